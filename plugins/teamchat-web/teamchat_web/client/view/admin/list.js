// A list that is loaded from the server and drawn anew whenever the model says that it has changed.
//
// Of two answers that cross, the one asked for last is drawn.

import { element } from "../../lib/dom.js";
import { show } from "../problems.js";
import { draw, rows } from "../rows.js";

/**
 * Make the list.
 * @param {object} ctx
 * @param {{label: string, none?: string, event: string, load: function(): Promise<object[]>,
 *   line: function(object): HTMLElement, signal: AbortSignal}} about `event` is the model's
 * @returns {{nodes: Node[], reload: function(): Promise<void>}}
 */
export function loaded(ctx, { label, none, event, load, line, signal }) {
  const list = rows(label);
  const problem = element("p", { class: "note note-danger", hidden: true });
  let asked = 0;
  ctx.model.on(event, () => reload(), signal);
  reload();
  return { nodes: [problem, list], reload };

  async function reload() {
    const mine = ++asked;
    try {
      const found = await load();
      if (mine !== asked || signal.aborted) return;
      problem.hidden = true;
      draw(list, found.map(line), none);
    } catch (error) {
      if (mine === asked && !signal.aborted) show(problem, error);
    }
  }
}
