// The emoji picker: recently used ones, all in groups, and search by name. Arrow keys move in the grid.
import { element, replace } from "../lib/dom.js";
import "../lib/more_strings.js";
import { t } from "../lib/strings.js";
import { groups, search } from "./emoji.js";
import { openPopup } from "./popup.js";
import { recentReactions } from "./reactions.js";
import { needsSheets } from "./sheet.js";

needsSheets("overlays", "forms");

/**
 * Opens the picker beside `anchor`.
 * @param {object} ctx
 * @param {HTMLElement} anchor
 * @param {(emoji: string) => void} choose is called once, after the picker has closed
 */
export function openPicker(ctx, anchor, choose) {
  const grid = element("div", { class: "picker-grid" });
  const field = element("input", {
    class: "input",
    type: "search",
    placeholder: t("picker.search"),
    "aria-label": t("picker.search"),
    autocomplete: "off",
    on: { input: () => draw() },
  });
  const take = (emoji) => {
    close();
    choose(emoji);
  };
  const draw = () => {
    const query = field.value.trim();
    const shown = query
      ? [[t("picker.found"), search(query)]]
      : [
          [t("picker.recent"), recentReactions(ctx).map((emoji) => ({ emoji, name: emoji }))],
          ...groups.map(({ name, all }) => [t(`picker.${name}`), all]),
        ];
    replace(
      grid,
      shown.map(([title, all]) => group(title, all, take)),
    );
  };
  const node = element(
    "div",
    {
      class: "menu picker",
      popover: "auto",
      role: "dialog",
      "aria-label": t("picker.title"),
      on: { keydown: (event) => move(event, field, grid) },
    },
    field,
    grid,
  );
  draw();
  const close = openPopup(node, anchor);
  ctx.signal.addEventListener("abort", close);
  field.focus();
}

function group(title, all, take) {
  if (!all.length) return element("p", { class: "palette-none" }, t("palette.none"));
  return [
    element("h3", {}, title),
    element(
      "div",
      { class: "group" },
      all.map(({ emoji, name }) =>
        element(
          "button",
          { type: "button", title: name, "aria-label": name, on: { click: () => take(emoji) } },
          emoji,
        ),
      ),
    ),
  ];
}

function move(event, field, grid) {
  const all = [...grid.querySelectorAll("button")];
  const at = all.indexOf(document.activeElement);
  if (at < 0) {
    if (event.key === "ArrowDown") (event.preventDefault(), all[0]?.focus());
    else if (event.key === "Enter") (event.preventDefault(), all[0]?.click());
    return;
  }
  const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: above(all, at, -1), ArrowDown: above(all, at, 1) }[
    event.key
  ];
  if (step === undefined) return;
  event.preventDefault();
  (all[at + step] ?? field).focus();
}

/** How far it is to the button in the next row up (-1) or down (1) that stands nearest. */
function above(all, at, way) {
  const { left, top } = all[at].getBoundingClientRect();
  let next = at + way;
  while (all[next] && all[next].getBoundingClientRect().top === top) next += way;
  if (!all[next]) return way < 0 ? -all.length : 0;
  const row = all[next].getBoundingClientRect().top;
  let best = next;
  for (let one = next; all[one] && all[one].getBoundingClientRect().top === row; one += way) {
    const far = (place) => Math.abs(all[place].getBoundingClientRect().left - left);
    if (far(one) < far(best)) best = one;
  }
  return best - at;
}
