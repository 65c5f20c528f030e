// A field of people, for forms: what they are chosen with (chooser.js), with a label, a hint and a problem of its own.

import { element } from "../../lib/dom.js";
import { chooser } from "./chooser.js";

let made = 0;

/**
 * Make a field for `form`; its value are the ids of users.
 * @param {object} ctx
 * @param {{name: string, label: string, hint: string, most?: number, check?: function(string[]): ?string}} about
 *   `most` are chosen at a time
 */
export function peopleField(ctx, { name, label, hint, most, check = () => null }) {
  const id = `people-${++made}`;
  const people = chooser(ctx, { label, most });
  const input = people.node.querySelector("input");
  const problem = element("p", { class: "error", id: `${id}-error`, hidden: true });
  const words = [element("span", { class: "legend", id }, label), element("p", { class: "hint", id: `${id}-hint` }, hint)];
  input.setAttribute("aria-describedby", `${id}-hint ${id}-error`);
  input.addEventListener("keydown", pick);

  /** Enter takes the first that is found, and never sends the form from here. */
  function pick(event) {
    if (event.key !== "Enter" || event.isComposing) return;
    event.preventDefault();
    const first = people.node.querySelector("[type=checkbox]:not(:checked)");
    if (!first || !input.value.trim()) return;
    first.click();
    input.value = "";
    input.dispatchEvent(new Event("input"));
  }

  function tell(text) {
    problem.hidden = !text;
    problem.textContent = text ?? "";
  }

  people.node.addEventListener("change", () => tell(null));
  return {
    node: element("div", { class: "field", role: "group", "aria-labelledby": id }, words, people.node, problem),
    input,
    name,
    tell,
    get value() {
      return people.ids;
    },
    check: (values) => check(values[name]),
  };
}
