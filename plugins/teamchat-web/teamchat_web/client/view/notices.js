// Notices: short words to the person, seen (toasts) or heard (the page's one polite live region), and the
// words for what went wrong.
// There is one live region on the page, it exists before it speaks, and an error
// toast stays until it is closed. The server's own sentence is shown only where the page knows nothing
// better: it is in English, and written for whoever writes clients.
import { Unreachable } from "../api/http.js";
import { element, icon } from "../lib/dom.js";
import { t } from "../lib/strings.js";

const STAY = 6000;

/**
 * Puts the live region and the place for toasts into the page.
 * @param {AbortSignal} [signal] ends them
 * @returns {{announce: (text: string) => void, hush: () => void, toast: (text: string, options?: {kind?: "info" | "danger",
 *   action?: {label: string, run: () => void}}) => () => void}} `toast` returns what closes it
 */
export function notices(signal) {
  const region = element("div", { class: "visually-hidden", role: "status", "aria-live": "polite" });
  const stack = element("section", { class: "toasts", popover: "manual" });
  document.body.append(region, stack);
  signal?.addEventListener("abort", () => [region, stack].forEach((part) => part.remove()));

  /** Shows the toasts above all else, in an open dialog: what lies outside it is inert. */
  function raise() {
    const home = [document.body, ...document.querySelectorAll("dialog:modal")].at(-1);
    home.append(stack);
    home.addEventListener("close", raise, { signal });
    if (stack.firstChild) stack.showPopover?.();
  }

  function announce(text) {
    const line = element("p", {}, text);
    region.append(line);
    setTimeout(() => line.remove(), STAY);
  }

  function toast(text, { kind = "info", action } = {}) {
    stack.setAttribute("aria-label", t("common.notices"));
    const close = () => {
      box.remove();
      if (!stack.childElementCount && stack.matches(":popover-open")) stack.hidePopover();
    };
    const run = () => {
      close();
      action.run();
    };
    const box = element(
      "div",
      { class: `toast toast-${kind}` },
      element("span", {}, text),
      action &&
        element(
          "button",
          { type: "button", class: "button button-quiet button-small", on: { click: run } },
          action.label,
        ),
      element(
        "button",
        { type: "button", class: "icon-button", "aria-label": t("common.close"), on: { click: close } },
        icon("close"),
      ),
    );
    stack.append(box);
    styled().finally(() => box.isConnected && raise());
    announce(text);
    if (kind !== "danger") setTimeout(close, action ? 2 * STAY : STAY);
    return close;
  }

  return { announce, toast, hush: () => region.replaceChildren() };
}

/** Loads the style of notices; without a network they have none, and what they say counts. */
async function styled() {
  try {
    const { loadSheet, sheet } = await import("./sheet.js");
    await loadSheet(sheet("notices"));
  } catch {}
}

/**
 * An error in the words of the page.
 * @param {Error} error
 * @returns {string}
 */
export function words(error) {
  if (error instanceof Unreachable) return t("problem.unreachable");
  if (error.status === 429) return wait(error.retryAfter);
  if (error.status < 500) return error.message;
  if (!error.status) reportError(error);
  return t("problem.server");
}

/** How long a person has to wait; `seconds` as the server said, or null. */
export function wait(seconds) {
  return t("problem.wait", { count: seconds ?? 1 });
}

/** What stands in place of messages that could not be loaded. */
export function failure(again) {
  styled();
  return element(
    "div",
    { class: "empty" },
    element("p", {}, t("timeline.error")),
    element("button", { type: "button", class: "button", on: { click: again } }, t("timeline.again")),
  );
}
