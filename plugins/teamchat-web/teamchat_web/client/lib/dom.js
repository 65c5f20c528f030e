// Building the page: elements are made node by node and text stays text. Nothing here, or anywhere else in
// the client, turns a string into markup; that is what the page's policy of trusted types holds it to.

export const SVG = "http://www.w3.org/2000/svg";

/**
 * Make an element.
 * @param {string} tag
 * @param {object} [properties] attributes and properties by name; also `dataset` and `on`, listeners by type
 * @param {...*} children nodes, or strings that become text; null and false are left out, arrays flattened
 * @returns {HTMLElement}
 */
export function element(tag, properties = {}, ...children) {
  const made = assign(document.createElement(tag), properties);
  for (const node of nodes(children)) made.append(node);
  return made;
}

/** Give an element the properties that `element` takes. */
export function assign(made, properties) {
  for (const [name, value] of Object.entries(properties)) set(made, name, value);
  return made;
}

/** Put `children` in the place of all that `parent` holds. */
export function replace(parent, ...children) {
  parent.replaceChildren(...nodes(children));
  return parent;
}

/** Like `replace`, but what would look the same stays: for children without listeners of their own. */
export function renew(parent, ...children) {
  const wanted = nodes(children);
  wanted.forEach((child, at) => {
    const there = parent.childNodes[at];
    if (!there) parent.append(child);
    else if (!there.isEqualNode(child)) there.replaceWith(child);
  });
  while (parent.childNodes.length > wanted.length) parent.lastChild.remove();
}

/**
 * Make an icon of the page's sprite; it says nothing to a screen reader.
 * @param {string} name as in `<symbol id="icon-NAME">`, or of `more_icons.js`
 */
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  const use = document.createElementNS(SVG, "use");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  use.setAttribute("href", `#icon-${name}`);
  svg.append(use);
  return svg;
}

function nodes(children) {
  return children.flat(Infinity).filter((child) => child != null && child !== false);
}

function set(made, name, value) {
  if (value == null) return;
  if (name === "on") {
    for (const [type, listener] of Object.entries(value)) made.addEventListener(type, listener);
  } else if (name === "dataset") {
    Object.assign(made.dataset, value);
  } else if (typeof value === "boolean" && !name.startsWith("aria-")) {
    made.toggleAttribute(name, value);
  } else if (name === "value") {
    made.value = value;
  } else {
    made.setAttribute(name, value);
  }
}
