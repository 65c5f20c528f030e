// Choosing people: a field that filters, and a box to tick beside each. Who was chosen stays in the list, first.

import { element, replace } from "../../lib/dom.js";
import "../../lib/more_strings.js";
import { t } from "../../lib/strings.js";
import { avatar } from "../people.js";
import { needsSheets } from "../sheet.js";

needsSheets("rooms");

const MOST_SHOWN = 50;

/**
 * @param {object} ctx
 * @param {{label: string, isOffered?: function(object): boolean, most?: number}} about `isOffered` says who may
 *   be chosen; `most` is how many
 * @returns {{node: HTMLElement, ids: string[], focus: function(): void}}
 */
export function chooser({ model }, { label, isOffered = () => true, most = 200 }) {
  const chosen = new Set();
  const status = element("p", { class: "soft small", role: "status" });
  const list = element("ul", { class: "chooser-list", "aria-label": label, tabindex: "-1" });
  const filter = element("input", {
    class: "input",
    type: "search",
    "aria-label": t("rooms.find_people"),
    placeholder: t("rooms.find_people"),
    autocomplete: "off",
    on: { input: () => draw() },
  });
  draw();
  return {
    node: element("div", { class: "chooser" }, filter, status, list),
    get ids() {
      return [...chosen];
    },
    focus: () => filter.focus(),
  };

  function draw() {
    const query = filter.value.trim().toLowerCase();
    const fits = ({ userName, fullName = "", email = "" }) =>
      `${userName} ${fullName} ${email}`.toLowerCase().includes(query);
    const isOther = ({ id, isDeactivated }) => id !== model.me.id && !isDeactivated;
    const all = [...model.users.values()].filter((user) => isOther(user) && isOffered(user));
    const found = all.filter((user) => !chosen.has(user.id) && fits(user)).sort(byName);
    const first = all.filter(({ id }) => chosen.has(id)).sort(byName);
    replace(list, [...first, ...found.slice(0, MOST_SHOWN)].map(line));
    tell(found.length);
  }

  function tell(count) {
    const shown = count > MOST_SHOWN ? t("rooms.found_more", { count, shown: MOST_SHOWN }) : t("rooms.found", { count });
    status.textContent = [shown, chosen.size && t("rooms.chosen", { count: chosen.size })].filter(Boolean).join(" ");
  }

  function line(user) {
    const change = ({ currentTarget: box }) => {
      if (box.checked && chosen.size >= most) box.checked = false;
      if (box.checked) chosen.add(user.id);
      else chosen.delete(user.id);
      status.textContent = t("rooms.chosen", { count: chosen.size });
    };
    return element(
      "li",
      {},
      element(
        "label",
        { class: "check" },
        element("input", { type: "checkbox", checked: chosen.has(user.id), on: { change } }),
        avatar(user),
        element("bdi", { class: "name" }, user.userName),
        element("span", { class: "soft small name" }, user.email),
      ),
    );
  }
}

function byName(one, other) {
  return one.userName.localeCompare(other.userName);
}
