// Popups: a popover beside the thing it belongs to, within the window, gone once it is closed.
// The focus goes back to where it came from, unless it has gone elsewhere meanwhile.
import { element, icon } from "../lib/dom.js";
import "../lib/more_icons.js";
import "./menus.js";

const GAP = 4;

/**
 * Opens `node` (an element with the attribute popover) beside `anchor`, below it if there is room.
 * @returns {() => void} closes it
 */
export function openPopup(node, anchor) {
  const before = document.activeElement;
  (anchor.closest("dialog, header, footer, main, aside") ?? document.body).append(node);
  node.showPopover();
  settle(node, anchor.getBoundingClientRect());
  const close = () => node.isConnected && node.hidePopover();
  // Not left to the browser: WebKit's search fields keep Escape to themselves, and what the popup stands in
  // (a thread, the drawer) would take it as its own.
  node.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || event.isComposing) return;
    event.preventDefault();
    event.stopPropagation();
    close();
  });
  node.addEventListener("toggle", (event) => {
    if (event.newState !== "closed") return;
    const held = node.contains(document.activeElement) || document.activeElement === document.body;
    node.remove();
    if (held && before?.isConnected) before.focus();
  });
  return close;
}

/**
 * Opens a menu of actions beside the button that has it.
 * @param {HTMLElement} button
 * @param {{icon: string, label: string, run: () => void}[]} items
 */
export function openMenu(button, items) {
  const label = button.ariaLabel ?? button.innerText;
  const menu = element(
    "div",
    { class: "menu", popover: "auto", role: "menu", "aria-label": label, on: { keydown: walk } },
    items.map(({ icon: name, label, run }) =>
      element(
        "button",
        {
          type: "button",
          class: "menu-item",
          role: "menuitem",
          tabindex: "-1",
          on: { click: () => [close(), run()] },
        },
        icon(name),
        label,
      ),
    ),
  );
  menu.addEventListener("toggle", (event) => button.setAttribute("aria-expanded", event.newState === "open"));
  const close = openPopup(menu, button);
  menu.firstChild.focus();
}

/** Arrow keys, Home and End move the focus among the children of a list. */
function walk(event) {
  const all = [...event.currentTarget.querySelectorAll("[role=menuitem]")];
  const at = all.indexOf(document.activeElement);
  const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 }[event.key];
  if (next === undefined) return;
  event.preventDefault();
  all.at(next % all.length).focus();
}

function settle(node, beside) {
  const { width, height } = node.getBoundingClientRect();
  const below = beside.bottom + GAP;
  const top = below + height < innerHeight ? below : beside.top - GAP - height;
  const left = Math.min(beside.left, innerWidth - width - 2 * GAP);
  node.style.top = `${Math.max(2 * GAP, Math.min(top, innerHeight - height - 2 * GAP))}px`;
  node.style.left = `${Math.max(2 * GAP, left)}px`;
}
