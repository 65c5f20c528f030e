// Dropping images: they go to a composer, wherever in its area they fall.

/** Lets images be dropped anywhere on `area`; they go to the composer that is given. */
export function acceptDrops(area, target) {
  const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
  const show = (isOver) => area.classList.toggle("dropping", isOver);
  area.addEventListener("dragover", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    show(true);
  });
  area.addEventListener("dragleave", (event) => !area.contains(event.relatedTarget) && show(false));
  area.addEventListener("drop", (event) => {
    show(false);
    if (!hasFiles(event)) return;
    event.preventDefault();
    target()?.add(event.dataTransfer.files);
  });
}
