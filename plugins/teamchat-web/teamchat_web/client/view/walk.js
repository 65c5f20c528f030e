// Whether a person walks through messages by keys: from Tab or an arrow key on, until the pointer is used.
// Else a message has the focus because something was pressed on it, and what is typed is not meant for it.
const STEPS = ["ArrowUp", "ArrowDown", "Home", "End"];

/**
 * @param {HTMLElement} list of messages
 * @param {AbortSignal} signal
 * @returns {() => boolean}
 */
export function watchWalk(list, signal) {
  let isWalking = false;
  let isTab = false;
  const follow = ({ type, key, target }) => {
    isTab = key === "Tab";
    if (type === "pointerdown") isWalking = false;
    else if (STEPS.includes(key) && list.contains(target)) isWalking = true;
  };
  for (const type of ["pointerdown", "keydown"]) {
    document.addEventListener(type, follow, { signal, capture: true });
  }
  list.addEventListener("focusin", () => (isWalking ||= isTab));
  return () => isWalking;
}

/** Tab stops at one message and what is in it; arrow keys lead to the others. */
export function reach(article, tabIndex) {
  for (const stop of [article, ...article.querySelectorAll("a, button, pre, [role=button]")]) stop.tabIndex = tabIndex;
}
