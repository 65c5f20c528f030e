// What a token may do: a box for each scope, as a field of a form.

const SCOPES = ["read", "write", "files", "events", "manage", "admin"];

export function chooser({ t, element, me }) {
  const boxes = SCOPES.filter((one) => one !== "admin" || me.isAdmin).map((scope) => {
    const box = element("input", { type: "checkbox", name: scope, checked: scope === "read" });
    const words = element("span", {}, element("b", {}, t(`scope_${scope}`)), ` – ${t(`about_${scope}`)}`);
    return { scope, box, node: element("label", { class: "tokens-scope" }, box, words) };
  });
  const problem = element("p", { class: "error", id: "tokens-scopes-error", hidden: true });
  const node = element(
    "fieldset",
    { class: "tokens-scopes", "aria-describedby": problem.id },
    element("legend", {}, t("scopes")),
    ...boxes.map((one) => one.node),
    problem,
  );
  node.addEventListener("change", () => tell(null));

  function tell(text) {
    problem.hidden = !text;
    problem.textContent = text ?? "";
  }

  return {
    node,
    input: boxes[0].box,
    name: "scopes",
    tell,
    get value() {
      return boxes.filter((one) => one.box.checked).map((one) => one.scope);
    },
    check: ({ scopes }) => (scopes.length ? null : t("scopes_missing")),
  };
}
