// Where a token works: everywhere, or in some of the places in the side bar alone; as a field of a form.

export function placesField({ t, element, rooms, limits }) {
  const limit = element("input", { type: "checkbox", name: "limit" });
  const search = element("input", { class: "input", type: "search", "aria-label": t("places_search") });
  const boxes = rooms.map((room) => {
    const box = element("input", { type: "checkbox", name: room.id });
    return { room, box, node: element("label", { class: "tokens-scope" }, box, element("span", {}, room.label)) };
  });
  const chosen = element(
    "div",
    { class: "tokens-places", hidden: true, role: "group", "aria-label": t("places") },
    search,
    element("div", { class: "tokens-places-list" }, ...boxes.map((one) => one.node)),
  );
  const problem = element("p", { class: "error", id: "tokens-places-error", hidden: true });
  const node = element(
    "fieldset",
    { class: "tokens-scopes", "aria-describedby": problem.id },
    element("legend", {}, t("places")),
    element("label", { class: "tokens-scope" }, limit, element("span", {}, t("places_limit"))),
    chosen,
    problem,
  );
  limit.addEventListener("change", () => {
    chosen.hidden = !limit.checked;
  });
  search.addEventListener("input", () => {
    const wanted = search.value.trim().toLocaleLowerCase();
    for (const { room, node: line } of boxes) line.hidden = !room.label.toLocaleLowerCase().includes(wanted);
  });
  // Enter in a search sends no form.
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter") event.preventDefault();
  });
  // Not when the search is left for a box: what it is pressed at would move away below the pointer.
  node.addEventListener("change", (event) => event.target === search || tell(null));

  function tell(text) {
    problem.hidden = !text;
    problem.textContent = text ?? "";
  }

  return {
    node,
    input: limit,
    name: "placeIds",
    tell,
    get value() {
      return limit.checked ? boxes.filter((one) => one.box.checked).map((one) => one.room.id) : null;
    },
    check({ placeIds }) {
      if (placeIds && !placeIds.length) return t("places_missing");
      return placeIds && placeIds.length > limits.placesPerToken ? t("places_many", { count: limits.placesPerToken }) : null;
    },
  };
}
