// A message in a few lines, for lists: who, when, and its words without their marks.
import { element } from "../lib/dom.js";
import "../lib/more_strings.js";
import { plainText } from "../lib/plain_text.js";
import { day, t, time } from "../lib/strings.js";
import { authorName } from "./message.js";
import { avatar } from "./people.js";
import { needsSheets } from "./sheet.js";

needsSheets("threads");

/**
 * @param {object} ctx
 * @param {object} item a Message
 * @param {string} [kind] one more class
 * @returns {HTMLElement}
 */
export function line(ctx, item, kind = "") {
  const name = authorName(ctx, item);
  return element(
    "span",
    { class: `line ${kind}` },
    avatar({ ...item.author, userName: name }),
    element(
      "span",
      { class: "line-text" },
      element("strong", { dir: "auto" }, name),
      " ",
      timeOf(item),
      " ",
      element("span", { class: "words", dir: "auto" }, wordsOf(item)),
    ),
  );
}

function timeOf({ createdAt }) {
  const date = day(createdAt);
  const words = date === t("time.today") ? time(createdAt) : `${date}, ${time(createdAt)}`;
  return element("time", { class: "small soft", datetime: new Date(createdAt).toISOString() }, words);
}

/** A message's words, or how many images it is. */
function wordsOf({ content, images = [], files = [] }) {
  const names = files.map(({ name }) => name).join(", ");
  return plainText(content) || names || t("message.images", { count: images.length });
}
