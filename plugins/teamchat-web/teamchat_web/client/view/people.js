// People in small: initials on a tint that stays the same for a person wherever they appear, and names that
// lead to their card (person.js). A name is a button that is no <button>: its text can be selected and copied.
import { element } from "../lib/dom.js";
import { part } from "../lib/parts.js";

const TINTS = 8;
const NAME = "[data-person], .message > .avatar";

/**
 * The initials of a person (or a webhook) as a small square. It says nothing to screen readers: the name
 * stands beside it.
 * @param {{id: string, userName: string}} user
 */
export function avatar({ id, userName }) {
  const about = { class: `avatar tint-${tint(id)}`, "aria-hidden": "true", dataset: { user: id } };
  return element("span", about, initials(userName));
}

/**
 * What makes the element of a name lead to the card.
 * @param {string} person the id of a user or a webhook
 * @param {{place?: {id: string}, tabindex?: string}} [more] `place` is where the author of a message wrote: a
 *   webhook's card tells it; in a message `reach` of the timeline gives the tab stop
 */
export function leadsToCard(person, { place, tabindex = "-1" } = {}) {
  const dataset = { person, ...(place && person.startsWith("webhook:") && { bot: place.id }) };
  return { role: "button", tabindex, "aria-haspopup": "dialog", dataset };
}

/** Opens the card of whoever's name is pressed. */
export function openCards(ctx) {
  const { signal } = ctx;
  const open = async ({ target }) => {
    if (target.closest(NAME)) (await part(import("./person.js"))).openPerson(ctx, target);
  };
  const press = (event) => {
    if (!event.target.dataset.person || !["Enter", " "].includes(event.key)) return;
    event.preventDefault(); // A space would scroll.
    open(event);
  };
  document.addEventListener("click", open, { signal });
  document.addEventListener("keydown", press, { signal });
}

function initials(name) {
  const words = name.split(/[^\p{L}\p{N}\p{Emoji_Presentation}]+/u).filter(Boolean);
  return (
    words
      .slice(0, 2)
      .map((word) => [...word][0].toUpperCase())
      .join("") || "?"
  );
}

function tint(id) {
  let sum = 0;
  for (const letter of id) sum = (sum * 31 + letter.codePointAt(0)) % 65521;
  return sum % TINTS;
}
