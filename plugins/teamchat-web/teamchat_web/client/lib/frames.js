// Drawing once per frame, however much has happened: what is due waits for the next frame, and all of it is
// drawn there together. A page that is hidden has no frames, but a title and a badge; a timer draws there.

const LATEST_MS = 250;
const due = new Set();
let frame = 0;
let timer = 0;

/**
 * Make a function that has `draw` called with the next frame, once for all its calls until then.
 * @param {function(): void} draw
 * @param {AbortSignal} signal nothing is drawn after it
 * @returns {function(): void}
 */
export function perFrame(draw, signal) {
  const drawUnlessOver = () => signal.aborted || draw();
  return () => {
    due.add(drawUnlessOver);
    if (frame) return;
    frame = requestAnimationFrame(drawAll);
    timer = setTimeout(drawAll, LATEST_MS);
  };
}

/** What becomes due while others are drawn is drawn in the same frame. */
function drawAll() {
  cancelAnimationFrame(frame);
  clearTimeout(timer);
  for (const draw of due) {
    due.delete(draw);
    try {
      draw();
    } catch (error) {
      reportError(error);
    }
  }
  frame = 0;
}
