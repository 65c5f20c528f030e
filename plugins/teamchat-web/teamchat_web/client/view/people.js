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

/** Whether an author is a webhook: a bot that has no account. */
export function isWebhook(id) {
  return id.startsWith("webhook:");
}

/**
 * What makes the element of a name lead to the card.
 * @param {string} person the id of a user or a webhook
 * @param {{webhook?: string, tabindex?: string}} [more] `webhook` is the id of the channel a webhook posts
 *   into; in a message `reach` of the timeline gives the tab stop
 */
export function leadsToCard(person, { webhook, tabindex = "-1" } = {}) {
  const dataset = webhook ? { person, bot: webhook } : { person };
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
