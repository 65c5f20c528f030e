// Images of a message: small ones, whole and in their own proportions, fetched with the access token (an
// address alone would not be allowed) once they come near the view. Until then they have the height that
// most of them keep. A press shows them large.
import { element, replace } from "../lib/dom.js";
import "../lib/more_strings.js";
import { part } from "../lib/parts.js";
import { dateTime, t } from "../lib/strings.js";
import { needsSheets } from "./sheet.js";

needsSheets("images");

const NEAR = "400px";
const waiting = new WeakMap();
const watcher = new IntersectionObserver(
  (seen) => {
    for (const { isIntersecting, target } of seen) {
      if (!isIntersecting) continue;
      watcher.unobserve(target);
      waiting.get(target)();
    }
  },
  { rootMargin: NEAR },
);

/** What an image is called where it can't be seen. */
export function altOf(ctx, item, at) {
  const name = ctx.model.userName(item.author.id) ?? item.author.userName;
  return t("image.alt", {
    name,
    time: dateTime(item.createdAt),
    number: at + 1,
    count: item.images?.length ?? 1,
  });
}

/** Fills in the images of a message; those of a pending one are shown from their files. */
export function fillImages(images, ctx, item) {
  const all = item.pictures ?? item.images;
  replace(
    images,
    all.map((image, at) => thumbnail(ctx, item, image, at)),
  );
}

function thumbnail(ctx, item, image, at) {
  const shown = element("img", { alt: altOf(ctx, item, at), decoding: "async" });
  const open = async () => (await part(import("./lightbox.js"))).openLightbox(ctx, item, at);
  const button = element(
    "button",
    { type: "button", class: "image", disabled: Boolean(item.pictures), on: { click: open } },
    shown,
  );
  shown.addEventListener("load", () => button.classList.add("loaded"));
  if (item.pictures) {
    show(shown, URL.createObjectURL(image));
    shown.addEventListener("load", () => URL.revokeObjectURL(shown.src), { once: true });
  } else {
    waiting.set(button, () => load(ctx, item, image, shown));
    watcher.observe(button);
  }
  return button;
}

async function load(ctx, item, filename, shown) {
  try {
    show(shown, await ctx.model.pictures.url(item.place, filename, { thumb: true }));
  } catch {
    shown.replaceWith(element("span", { class: "soft small" }, t("image.missing")));
  }
}

function show(shown, address) {
  shown.src = address;
}
