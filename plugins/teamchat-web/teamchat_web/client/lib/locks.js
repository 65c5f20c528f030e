// One at a time, over all tabs of this browser. Pages served without TLS from another machine have no locks
// (navigator.locks asks for a secure context); there it is one at a time within the page, and what is built
// on this must stay right, if less thrifty, when several tabs work at once.

const queues = new Map();

/** Whether locks reach over tabs. */
export const reachOverTabs = Boolean(globalThis.navigator?.locks);

/**
 * Run `work` when nobody else runs under the same name, and return what it returns.
 * @template T
 * @param {string} name
 * @param {function(): Promise<T>} work
 * @param {AbortSignal} [signal] gives up waiting for the turn
 * @returns {Promise<T>}
 */
export function exclusively(name, work, signal) {
  if (reachOverTabs) return navigator.locks.request(name, signal ? { signal } : {}, work);
  const before = queues.get(name) ?? Promise.resolve();
  const turn = before.then(() => {
    signal?.throwIfAborted();
    return work();
  });
  queues.set(name, turn.catch(() => {}));
  return turn;
}
