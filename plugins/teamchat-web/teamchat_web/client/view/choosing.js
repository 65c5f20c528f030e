// How files come into a composer: chosen or dropped. What is pasted the composer takes by itself, from its first moment on.

import { element } from "../lib/dom.js";
import { acceptDrops } from "./drops.js";

const TYPES = "image/png,image/jpeg,image/webp,image/svg+xml";

/** Have the composers that are offered in a slot take images. */
export function takeImages(slots) {
  const takers = new WeakMap(); // By the box of a composer.
  slots.watch((slot, box, { composer } = {}) => {
    if (slot !== "composer") return;
    const add = (files) => composer.add(files);
    takers.set(box, add);
    offerFiles(box, add);
  });
  acceptDrops((area) => [...area.querySelectorAll(".composer-box")].map((box) => takers.get(box)).find(Boolean));
}

function offerFiles(box, add) {
  const change = () => {
    add(picker.files);
    picker.value = "";
  };
  const look = { type: "file", accept: TYPES, multiple: true, hidden: true, on: { change } };
  const picker = element("input", look);
  box.after(picker);
}
