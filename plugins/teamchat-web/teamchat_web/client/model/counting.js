// How counting begins: on a server that counts what is unread, with its read states.

import { Counts } from "./counts.js";
import { reconsider } from "./edits.js";

/** Begin it. */
export function beginCounting(model, signal) {
  model.unread.begin(new Counts(model.unread));
  model.on("edited", (message) => reconsider(model, message), signal);
  const begin = async () => {
    if (!model.capabilities["read-state"] || model.readStates) return;
    const { ReadStates } = await import("./read_states.js");
    const { ThreadStates } = await import("./thread_states.js");
    if (signal.aborted || model.readStates) return;
    model.readStates = new ReadStates(model, signal);
    model.threadStates = model.capabilities.threads ? new ThreadStates(model, signal) : null;
    await Promise.all([model.readStates.start(), model.threadStates?.start()]);
  };
  model.on("rights", begin, signal);
  begin();
}
