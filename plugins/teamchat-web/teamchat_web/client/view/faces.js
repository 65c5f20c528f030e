// The pictures of people, over their initials wherever these stand, and the emoji of their statuses after the names
// beside them: a picture is fetched once, when the initials come near what is seen. Its address never means another
// one, so the browser keeps it.

import { path } from "../api/api.js";
import { element } from "../lib/dom.js";
import { needsSheets } from "./sheet.js";

needsSheets("people");

const SIZE = 128; // Pixels: enough for the largest of them on a screen of two to one.
const FACES = ".avatar[data-user]";

/** Begin to show them, for as long as the session lasts. */
export function beginFaces({ api, http, model, signal }) {
  const addresses = new Map();
  const near = new IntersectionObserver((seen) => {
    for (const { target, isIntersecting } of seen) {
      if (!isIntersecting) continue;
      near.unobserve(target);
      dress(target);
    }
  }, { rootMargin: "400px" });
  const watch = (node) => {
    if (node.matches?.(FACES)) near.observe(node);
    for (const face of node.querySelectorAll?.(FACES) ?? []) near.observe(face);
  };
  const added = new MutationObserver((changes) => {
    for (const { addedNodes } of changes) addedNodes.forEach(watch);
  });
  added.observe(document.body, { childList: true, subtree: true });
  watch(document.body);
  model.on("users", () => document.querySelectorAll(FACES).forEach(redress), signal);
  signal.addEventListener("abort", () => {
    added.disconnect();
    near.disconnect();
    for (const address of addresses.values()) address.then(URL.revokeObjectURL, () => {});
  });

  function redress(face) {
    const user = model.users.get(face.dataset.user);
    const isSame = (face.dataset.version ?? "") === (user?.avatarVersion ?? "");
    if (!isSame || (nameAt(face)?.dataset.status ?? "") !== (user?.status?.emoji ?? "")) near.observe(face);
  }

  async function dress(face) {
    const id = face.dataset.user;
    const { avatarVersion, status } = model.users.get(id) ?? {};
    const name = nameAt(face);
    if (name && status?.emoji) name.dataset.status = status.emoji;
    else delete name?.dataset.status;
    const version = avatarVersion ?? "";
    if (version === face.dataset.version) return undefined;
    face.dataset.version = version;
    if (!version) return face.querySelector("img")?.remove();
    try {
      const src = await address(id, version);
      const isSame = face.dataset.version === version && !signal.aborted;
      if (isSame) face.replaceChildren(...initials(face), element("img", { src, alt: "", draggable: "false" }));
    } catch {
      delete face.dataset.version; // The initials stay, and the next change of people tries again.
    }
    return undefined;
  }

  function address(id, version) {
    const key = `${id}/${version}`;
    if (!addresses.has(key)) {
      const source = path`/users/${id}/avatar?size=${SIZE}&v=${version}`;
      const made = api.withToken((token) => http.blob(source, { token })).then(URL.createObjectURL);
      made.catch(() => addresses.delete(key));
      addresses.set(key, made);
    }
    return addresses.get(key);
  }
}

/** The name that stands beside initials, if one does. */
function nameAt({ parentElement }) {
  return parentElement?.querySelector(":scope > .name, :scope > .message-head > .name");
}

function initials(face) {
  return [...face.childNodes].filter((node) => node.nodeName !== "IMG");
}
