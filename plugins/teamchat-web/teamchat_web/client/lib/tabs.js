// What lets several tabs of one browser work beside each other: one at a time where that is called for, and
// names that no two of them give alike. Pages served without TLS from another machine have no locks
// (navigator.locks asks for a secure context); there it is one at a time within the page, and what is built
// on this must stay right, if less thrifty, when several tabs work at once.

const queues = new Map();
let count = 0;

/** Whether locks reach over tabs. */
export const reachOverTabs = Boolean(globalThis.navigator?.locks);

/**
 * Run `work` when nobody else runs under the same name, and return what it returns.
 * @template T
 * @param {string} name
 * @param {function(boolean): Promise<T>} work is told whether another tab may have had the turn just before
 * @param {AbortSignal} [signal] gives up waiting for the turn
 * @returns {Promise<T>}
 */
export async function exclusively(name, work, signal) {
  if (reachOverTabs) {
    signal?.throwIfAborted();
    const ifFree = async (lock) => lock && { result: await work(false) };
    const done = await navigator.locks.request(name, { ifAvailable: true }, ifFree);
    return done ? done.result : navigator.locks.request(name, signal ? { signal } : {}, () => work(true));
  }
  const before = queues.get(name) ?? Promise.resolve();
  const turn = before.then(() => {
    signal?.throwIfAborted();
    return work(false);
  });
  queues.set(name, turn.catch(() => {}));
  return turn;
}

/** A new id: the time, a running number, and sixteen random bytes. They sort by the time they were made. */
export function newId() {
  const time = Date.now().toString(36).padStart(9, "0");
  const running = (count++ % 46_656).toString(36).padStart(3, "0");
  const random = crypto.getRandomValues(new Uint8Array(16));
  return `${time}${running}-${Array.from(random, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
