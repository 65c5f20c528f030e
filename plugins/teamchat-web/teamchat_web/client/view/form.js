// Forms: fields with a label, a hint and a problem of their own, and one way to send them.
//
// A problem is told in words beside what it is about, tied to it (aria-describedby,
// aria-invalid), and the focus goes there; a form is sent once at a time; what was typed stays until it has
// worked. The browser's own messages are off, for they follow its language and not the page's.

import { element } from "../lib/dom.js";
import { t } from "../lib/strings.js";
import { words } from "./notices.js";
import { show } from "./problems.js";

const EMAIL = /^[^\s@]+@[^\s@]+$/;
const PASSWORD = 8; // characters at least (interface, part 8)
let made = 0;

/** Checks of a value: the words of what is wrong with it, or nothing. */
export const checks = {
  given: (value) => (value ? null : t("problem.missing")),
  email: (value) => (EMAIL.test(value) ? null : t(value ? "problem.email" : "problem.missing")),
  password: (value) => ([...value].length >= PASSWORD ? null : t("problem.short")),
};

/**
 * Make a field.
 * @param {{name: string, label: string, hint?: string, check?: function(string, object): ?string,
 *   options?: Object<string, string>}} about `check` gets the value and those of the whole form; with
 *   `options` it is a select of labels by value, with `rows` a textarea. All other properties are the input's.
 * @returns {{node: HTMLElement, input: HTMLElement, name: string, value: string,
 *   check: function(object): ?string, tell: function(?string): void}}
 */
export function field({ name, label, hint, check, options, ...properties }) {
  const id = `field-${++made}`;
  const note = hint && element("p", { class: "hint", id: `${id}-hint` }, hint);
  const problem = element("p", { class: "error", id: `${id}-error`, hidden: true });
  const described = note ? `${id}-hint ${id}-error` : `${id}-error`;
  const choices = Object.entries(options ?? {}).map(([value, text]) => element("option", { value }, text));
  const input = element(
    options ? "select" : properties.rows ? "textarea" : "input",
    { id, name, dir: "auto", "aria-describedby": described, ...properties },
    choices,
  );
  if (options && properties.value) input.value = properties.value;
  const typed = properties.type === "password" ? revealable(input) : input;
  input.addEventListener("input", () => tell(null));

  function tell(text) {
    problem.hidden = !text;
    problem.textContent = text ?? "";
    input.ariaInvalid = text ? "true" : null;
  }

  return {
    node: element("div", { class: "field" }, element("label", { for: id }, label), typed, note, problem),
    input,
    name,
    tell,
    get value() {
      return properties.type === "password" ? input.value : input.value.trim();
    },
    check: (values) => check?.(values[name], values) ?? null,
  };
}

/**
 * Make a form.
 * @param {{fields: object[], action: string, send: function(object): Promise,
 *   explain?: function(Error): ?{field?: string, text: string}, kind?: ""|"plain"|"line"}} about `send` gets
 *   the values by name; `explain` may know better words for what it throws, and the field they are about; the
 *   button of a plain form is not the page's chief one, and a form in line stands beside its button
 * @returns {HTMLFormElement}
 */
export function form({ fields, action, send, explain = () => null, kind = "" }) {
  const problem = element("p", { class: "note note-danger", hidden: true });
  const isLine = kind === "line";
  const look = kind ? "button" : "button button-primary";
  const button = element("button", { class: look, type: "submit" }, action);
  const parts = fields.map(({ node }) => node);
  const made = element(
    "form",
    { class: "form", novalidate: true, on: { submit } },
    isLine ? element("div", { class: "form-line" }, parts, button) : parts,
    problem,
    isLine ? null : button,
  );
  let isSending = false;

  async function submit(event) {
    event.preventDefault();
    problem.hidden = true;
    const values = Object.fromEntries(fields.map((one) => [one.name, one.value]));
    if (isSending || !areGood(fields, values)) return;
    isSending = true;
    button.ariaBusy = "true";
    try {
      await send(values, made);
    } catch (error) {
      tell(error);
    } finally {
      isSending = false;
      button.ariaBusy = null;
    }
  }

  function tell(error) {
    const known = error.status === 429 ? null : explain(error);
    const at = fields.find((one) => one.name === known?.field);
    if (!at) return show(problem, error, known?.text ?? words(error));
    at.tell(known.text);
    at.input.focus();
    at.input.select?.();
  }

  return made;
}

function areGood(fields, values) {
  let first = null;
  for (const one of fields) {
    const wrong = one.check(values);
    one.tell(wrong);
    if (wrong) first ??= one;
  }
  first?.input.focus();
  return first === null;
}

/** A password with a button that shows it. */
function revealable(input) {
  const button = element("button", { class: "button button-quiet button-small", type: "button" });
  button.ariaLabel = t("sign_in.show_password");
  const turn = (isShown) => {
    input.type = isShown ? "text" : "password";
    button.ariaPressed = String(isShown);
  };
  button.append(t("sign_in.show"));
  button.addEventListener("click", () => turn(button.ariaPressed !== "true"));
  turn(false);
  return element("div", { class: "reveals" }, input, button);
}
