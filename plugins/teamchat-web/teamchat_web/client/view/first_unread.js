// The way up to what is unread, where that begins further back than what is on the screen.
// It goes no further than so many pages, and what can't be found is not looked for
// again.
import { element, icon, replace } from "../lib/dom.js";
import "../lib/more_strings.js";
import { t } from "../lib/strings.js";

const MOST_PAGES = 20;

/**
 * @param {object} timeline of the model
 * @param {{isFurtherUp: boolean}} line above what is new
 * @param {() => void} show called when it is there, or as near as it was looked for
 * @returns {HTMLElement} a button that loads upward and is gone then
 */
export function offerFirst(timeline, line, show) {
  const button = element(
    "button",
    { type: "button", class: "button pill pill-top", on: { click: climb } },
    icon("up"),
    t("timeline.first_unread"),
  );

  async function climb() {
    button.disabled = true;
    replace(button, element("span", { class: "spinner" }));
    for (let pages = 0; pages < MOST_PAGES && line.isFurtherUp; pages++) {
      await timeline.loadOlder();
      if (timeline.error) break;
    }
    requestAnimationFrame(() => {
      show();
      button.remove();
    });
  }

  return button;
}
