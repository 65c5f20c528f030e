// Dropping images: they go to the composer of the conversation or thread in whose area they fall.

const AREA = "main, .thread";

/**
 * Let images be dropped.
 * @param {function(HTMLElement): ?function(FileList): void} takerIn what takes them in an area; undefined if nothing
 */
export function acceptDrops(takerIn) {
  const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
  const areaOf = ({ target }) => target.closest?.(AREA);
  const show = (area, isOver) => area.classList.toggle("dropping", isOver);
  document.addEventListener("dragover", (event) => {
    const area = areaOf(event);
    if (!area || !hasFiles(event)) return;
    event.preventDefault();
    show(area, true);
  });
  document.addEventListener("dragleave", (event) => {
    const area = areaOf(event);
    if (area && !area.contains(event.relatedTarget)) show(area, false);
  });
  document.addEventListener("drop", (event) => {
    const area = areaOf(event);
    if (!area) return;
    show(area, false);
    if (!hasFiles(event)) return;
    event.preventDefault();
    takerIn(area)?.(event.dataTransfer.files);
  });
}
