// What the page does once the first view is there.

const NAME = "[data-person], .message > .avatar";

/**
 * Begin with it, until the session ends.
 * @param {object} ctx
 */
export function later(ctx) {
  openCards(ctx);
}

/** Open the card of whoever's name is pressed (people.js, `leadsToCard`). */
function openCards(ctx) {
  const { signal } = ctx;
  const open = async ({ target }) => {
    if (target.closest(NAME)) (await import("./person.js")).openPerson(ctx, target);
  };
  const press = (event) => {
    if (!event.target.dataset.person || !["Enter", " "].includes(event.key)) return;
    event.preventDefault(); // A space would scroll.
    open(event);
  };
  document.addEventListener("click", open, { signal });
  document.addEventListener("keydown", press, { signal });
}
