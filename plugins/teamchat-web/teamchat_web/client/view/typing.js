// Stray typing: what is typed while nothing that takes text has the focus goes to the field where the
// person writes, that of the thread if this is where they were last.

/**
 * @param {AbortSignal} signal ends it
 * @param {(inThread: boolean) => ?{focus: () => void}} fieldOf the composer of the thread or of the place
 */
export function catchTyping(signal, fieldOf) {
  let last = document.activeElement; // Where the person was: a press beside all controls leaves no focus.
  const visit = ({ target }) => (last = target);
  for (const type of ["pointerdown", "focusin"]) {
    document.addEventListener(type, visit, { signal, capture: true });
  }
  document.addEventListener(
    "keydown",
    (event) => {
      if (event.defaultPrevented || !isText(event) || isTaken(event.target)) return;
      const from = event.target === document.body ? last : event.target;
      fieldOf(Boolean(from?.closest?.(".thread")))?.focus(); // The key itself then goes there.
    },
    { signal },
  );
}

/** Whether a key writes something: a character, an accent to come, or a paste; a space presses and scrolls. */
function isText(event) {
  const isCommand = event.ctrlKey || event.metaKey;
  if (isCommand && !event.altKey && event.key.toLowerCase() === "v") return true;
  if ((isCommand || event.altKey) && !event.getModifierState("AltGraph")) return false;
  return event.key === "Dead" || ([...event.key].length === 1 && event.key !== " ");
}

function isTaken(target) {
  return (
    target.closest?.("input, textarea, select, dialog, [popover]") ||
    document.querySelector("dialog[open], [popover]:popover-open")
  );
}
