// How a visit begins: from where the stream goes on.

const POSITION = "stream";
const POSITION_MS = 3_600_000;

/** Where the stream goes on from, so that nothing is missed while the page is loaded; empty: from now on. */
export function position(kept) {
  const { id = "", at = 0 } = kept.get(POSITION, {});
  return Math.abs(Date.now() - at) < POSITION_MS ? id : "";
}

/** Keep where the stream is when the page is left. */
export function keepPosition(kept, stream, signal) {
  const keep = () => kept.set(POSITION, { id: stream.lastEventId, at: Date.now() });
  addEventListener("pagehide", keep, { signal });
}
