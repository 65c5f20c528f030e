// Fields that are as high as their text, in browsers without field-sizing.

/**
 * @param {HTMLTextAreaElement} field
 * @param {AbortSignal} signal
 * @returns {() => void} to be called when the text has changed
 */
export function growing(field, signal) {
  const grow = () => {
    if (!field.isConnected) return; // It has no height until it is in the page.
    field.style.height = "auto";
    field.style.height = `${field.scrollHeight}px`;
  };
  let width = 0;
  // Called when the field comes into the page, and when its text wraps anew.
  const sizes = new ResizeObserver(([{ contentRect }]) => {
    if (contentRect.width === width) return; // What grew is the height, by what was done here.
    width = contentRect.width;
    grow();
  });
  sizes.observe(field);
  signal.addEventListener("abort", () => sizes.disconnect());
  return grow;
}
