// What keys and pastes do to a text while it is written: Ctrl B and others set the marks of Markdown around what is
// selected or take them away, an address that is pasted over words links them, and a new line goes on with the list
// or the quote above it. It holds for every field in which messages are written.

import { endsInCode } from "../lib/code.js";
import { writeOver } from "../lib/writing.js";
import { needsSheets } from "./sheet.js";

needsSheets("writing");

const FIELD = ".composer textarea";
const MARKS = { b: "**", i: "_", "shift+x": "~~", "shift+c": "`" };
const FENCE = "```";
const ADDRESS = /^(?:https?:\/\/|mailto:)[^\s<>]+$/i;
const LINKABLE = /^[^[\]\n]+$/; // Words that a link can have.
const BEGINNING = /^(?<indent>[ \t]*)(?:(?<sign>[-*])|(?<number>\d{1,9})(?<end>[.)])|(?<quote>>))(?<space> *)/;

/** Have the fields do so until `signal` ends. */
export function beginFormatting(signal) {
  const listen = (type, act) =>
    document.addEventListener(
      type,
      (event) => event.target.matches?.(FIELD) && act(event.target, event) && event.preventDefault(),
      { signal },
    );
  listen("keydown", mark);
  listen("paste", link);
  listen("beforeinput", goOn);
}

/** Each of these returns whether it did something in place of the browser. */
function mark(field, { key, ctrlKey, metaKey, altKey, shiftKey, isComposing }) {
  const sign = MARKS[(shiftKey ? "shift+" : "") + key.toLowerCase()];
  if (!sign || ctrlKey === metaKey || altKey || isComposing) return false;
  const { value } = field;
  const [start, end] = withoutSpace(field);
  if (sign === "`" && value.slice(start, end).includes("\n")) return fence(field, start, end);
  const [outer, inner] = [-sign.length, sign.length].map((by) => [start + by, end - by]);
  if (isBetween(value, outer, sign)) return put(field, outer, value.slice(start, end), 0);
  if (isBetween(value, [start, end], sign)) return put(field, [start, end], value.slice(...inner), 0);
  return put(field, [start, end], sign + value.slice(start, end) + sign, sign.length);
}

/** Where the selected words begin and end: marks beside a space would be text. */
function withoutSpace({ value, selectionStart, selectionEnd }) {
  const selected = value.slice(selectionStart, selectionEnd);
  const start = selectionStart + (selected.trim() ? selected.length - selected.trimStart().length : 0);
  return [start, start + selected.trim().length];
}

/** Whether a part of a text begins and ends with a mark, and not with one that is made of more such signs. */
function isBetween(value, [start, end], sign) {
  const part = value.slice(Math.max(0, start), end);
  const isMarked = start >= 0 && part.length >= 2 * sign.length && part.startsWith(sign) && part.endsWith(sign);
  return isMarked && ![value[start - 1], value[end]].includes(sign[0]);
}

/** Writes over a part of the text; what is between `margin` at its beginning and its end is selected then. */
function put(field, [start, end], text, margin) {
  writeOver(field, text, start, end);
  field.setSelectionRange(start + margin, start + text.length - margin);
  return true;
}

/** Several lines of code are a block of their own. */
function fence(field, start, end) {
  const { value } = field;
  const before = value[start - 1] && value[start - 1] !== "\n" ? "\n" : "";
  const after = value[end] && value[end] !== "\n" ? "\n" : "";
  writeOver(field, `${before}${FENCE}\n${value.slice(start, end)}\n${FENCE}${after}`, start, end);
  return true;
}

function link(field, { clipboardData }) {
  const address = clipboardData.getData("text/plain").trim();
  const { selectionStart, selectionEnd, value } = field;
  const words = value.slice(selectionStart, selectionEnd);
  if (!ADDRESS.test(address) || !LINKABLE.test(words) || ADDRESS.test(words.trim())) return false;
  if (!words.trim() || endsInCode(value.slice(0, selectionStart))) return false;
  const [start, end] = withoutSpace(field);
  writeOver(field, `[${words.trim()}](${address.replaceAll("(", "%28").replaceAll(")", "%29")})`, start, end);
  return true;
}

/** A new line in a list or a quote begins as the one above it; after one that has nothing else, the list is over. */
function goOn(field, { inputType }) {
  const { selectionStart, selectionEnd, value } = field;
  if (inputType !== "insertLineBreak" || selectionStart !== selectionEnd) return false;
  const before = value.slice(0, selectionStart);
  const from = before.lastIndexOf("\n") + 1;
  const line = before.slice(from);
  const found = BEGINNING.exec(line);
  if (!found || endsInCode(before)) return false;
  const { indent, sign, number, end, quote, space } = found.groups;
  if (!quote && !space) return false;
  if (line.length === found[0].length) writeOver(field, "", from, selectionStart);
  else writeOver(field, `\n${indent}${sign ?? quote ?? `${Number(number) + 1}${end}`}${space}`);
  return true;
}
