// What is unread beyond the edges of the sidebar: a button at the edge says that there is some, and goes to
// the nearest.
import { element, icon, replace } from "../lib/dom.js";
import { perFrame } from "../lib/frames.js";
import "../lib/more_strings.js";
import { t } from "../lib/strings.js";

/**
 * Keeps the marks at the edges of a list that scrolls.
 * @param {HTMLElement} scroller its unread links have the class "unread", and "calls" if they call
 * @param {AbortSignal} signal
 */
export function markFold(scroller, signal) {
  const edges = { above: mark("up", () => go("above")), below: mark("down", () => go("below")) };
  const hidden = { above: [], below: [] };
  scroller.before(edges.above);
  scroller.after(edges.below);

  const look = () => {
    const { top, bottom } = scroller.getBoundingClientRect();
    const links = [...scroller.querySelectorAll(".unread")].map((link) => [link, link.getBoundingClientRect()]);
    hidden.above = links.filter(([, box]) => box.bottom <= top + box.height / 2).map(([link]) => link).reverse();
    hidden.below = links.filter(([, box]) => box.top >= bottom - box.height / 2).map(([link]) => link);
    for (const edge of ["above", "below"]) show(edges[edge], hidden[edge]);
  };
  const later = perFrame(look, signal);
  const redrawn = new MutationObserver(later);
  const resized = new ResizeObserver(later);
  redrawn.observe(scroller, { childList: true, subtree: true });
  resized.observe(scroller);
  signal.addEventListener("abort", () => [redrawn, resized].forEach((watch) => watch.disconnect()));
  scroller.addEventListener("scroll", later, { passive: true });
  look();

  function go(edge) {
    const [link] = hidden[edge];
    link?.scrollIntoView({ block: "center" });
    link?.focus({ preventScroll: true });
  }
}

function mark(sign, go) {
  const look = `button button-small fold fold-${sign}`;
  return element(
    "button",
    { type: "button", class: look, hidden: true, on: { click: go } },
    icon(sign),
    element("span", {}),
  );
}

function show(button, links) {
  const calls = links.some((link) => link.classList.contains("calls"));
  const words = t(calls ? "sidebar.more_for_you" : "sidebar.more_unread");
  button.hidden = !links.length;
  button.classList.toggle("button-primary", calls);
  if (button.lastChild.textContent !== words) replace(button.lastChild, words);
}
