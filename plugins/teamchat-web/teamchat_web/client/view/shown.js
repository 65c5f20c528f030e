// Which rooms and threads are on the screen: their views, for whoever leads to a message there.

const all = new WeakMap(); // By the slots of a session.

/** What a session shows. It is asked for first with the session's own `ctx`, before its slots are taken. */
export function shownOf(ctx) {
  if (!all.has(ctx.slots)) all.set(ctx.slots, new Shown(ctx));
  return all.get(ctx.slots);
}

class Shown {
  #screens = new Map();
  #waiting = new Map();

  constructor(ctx) {
    /** That of the session: it outlives every screen. */
    this.ctx = ctx;
    ctx.slots.watch((slot, node, about) => {
      if (slot === "room") this.#show(about.place.id, about);
      if (slot === "thread") this.#show(about.parentId, about);
    });
  }

  /** The view of a room, or of a thread by its parent's id, once it is there. */
  view(id) {
    const shown = this.#screens.get(id);
    if (shown && !shown.ctx.signal.aborted) return Promise.resolve(shown.view);
    return new Promise((resolve) => this.#waiting.set(id, resolve));
  }

  #show(id, { ctx, view }) {
    this.#screens.set(id, { ctx, view });
    ctx.signal.addEventListener("abort", () => {
      if (this.#screens.get(id)?.view === view) this.#screens.delete(id);
    });
    this.#waiting.get(id)?.(view);
    this.#waiting.delete(id);
  }
}
