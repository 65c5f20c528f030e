// How images come into a composer besides being dropped: chosen as files, or pasted. Pasting anything else
// behaves as in any field.

import { element } from "../lib/dom.js";

const TYPES = "image/png,image/jpeg,image/webp,image/svg+xml";

/** Have the composers that are offered in a slot take images. */
export function takeImages(slots) {
  slots.watch((slot, box, about) => slot === "composer" && listen(box, about));
}

function listen(box, { field, add }) {
  const change = () => {
    add(picker.files);
    picker.value = "";
  };
  const look = { type: "file", accept: TYPES, multiple: true, hidden: true, on: { change } };
  const picker = element("input", look);
  box.after(picker);
  field.addEventListener("paste", (event) => {
    const files = [...event.clipboardData.files].filter((file) => file.type.startsWith("image/"));
    if (!files.length || event.clipboardData.types.includes("text/plain")) return;
    event.preventDefault();
    add(files);
  });
}
