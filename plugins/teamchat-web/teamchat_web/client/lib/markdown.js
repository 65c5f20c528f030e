// Text of people as nodes: a small Markdown, with mentions and links.
//
// The result is made of elements this file names, and their text; an address leads to
// http, https or mailto; and the time taken grows with the length of the text, whatever is in it. So there
// is no backtracking: blocks are found line by line, and within a line one pass meets each mark once.

import { element } from "./dom.js";
import { Mentions, WORD } from "./mentions.js";

const DEEPEST = 8; // Marks within marks, quotes within quotes, lists within lists; beyond it marks are text.
const MOST_EMOJI = 40;
const ITEM = /^ {0,3}(?:([-*])|(\d{1,9})[.)]) +(?=\S)/;
const INNER_ITEM = /^[ \t]*(?:([-*])|(\d{1,9})[.)]) +(?=\S)/;
const INDENTED = /^(?: {2}|\t)\s*(?=\S)/;
const STEP = 2; // Spaces further in than the item above: a list within it.
const TAB = "    ";
const QUOTE = /^ {0,3}> ?/;
const FENCE = /^ {0,3}```/;
// The repetitions have bounds, so that what never ends as it began costs no more than those at each place.
const RUN = /`+|\*+|_+|~+|\[|(?<![\p{L}\p{N}])(?:https?:\/\/|mailto:)/;
const NAME = /(?<![\p{L}\p{N}.%+-])(?:[a-z0-9](?:[\w.%+'-]{0,62}[a-z0-9])?@|www\.)|[@#]/;
const MARK = new RegExp(`${RUN.source}|${NAME.source}`, "giu");
const LINK_WORDS = /\[((?:[^[\]\n]|\[[^[\]\n]{0,50}\]){1,500})\]/;
const LINK_END = /\(((?:https?:\/\/|mailto:|www\.)(?:[^\s()<>]|\([^\s()<>]{0,200}\)){1,2000})\)/;
const NAMED_LINK = new RegExp(LINK_WORDS.source + LINK_END.source, "iy");
const BARE_LINK = /(?:https?:\/\/|mailto:|www\.[\p{L}\p{N}-]{1,63}\.(?=\p{L}))[^\s<>"]{1,2000}/iuy;
const MAIL = /[\w.%+'-]{1,64}@(?:[\p{L}\p{N}-]{1,63}\.){1,8}\p{L}{2,63}(?![\p{L}\p{N}@-])/iuy;
const EMOJI = /^(?:\p{RGI_Emoji}|\s)+$/v;
const TAGS = { "**": "strong", "*": "em", _: "em", "~~": "s" };

/**
 * Render a message's text.
 * @param {string} text
 * @param {{names?: Map<string, string>, me?: string, entities?: object[],
 *   draw?: (entity) => ?Node}} [people] `names` are ids by user name in lower case; with `entities` these
 *   alone are mentions, as `draw` makes them
 * @returns {DocumentFragment}
 */
export function render(text, people = {}) {
  const fragment = document.createDocumentFragment();
  const context = new Mentions(text, people);
  for (const block of blocks(text.split(/\r?\n/), context, 0)) {
    block.dir ||= "auto"; // What is within follows it, or has a direction by itself (base.css).
    fragment.append(block);
  }
  const isEmoji = text.length <= MOST_EMOJI && EMOJI.test(text.trim());
  if (isEmoji) fragment.firstElementChild?.classList.add("emoji-only");
  return fragment;
}

/** The ids of the users that a text mentions, outside of code. */
export function mentions(text, names) {
  if (!text.includes("@")) return new Set();
  const found = render(text, { names }).querySelectorAll(".mention");
  return new Set([...found].map(({ dataset }) => dataset.user));
}

// Blocks.

function blocks(lines, context, depth) {
  const made = [];
  for (let at = 0; at < lines.length; ) {
    if (!lines[at].trim()) {
      at++;
      continue;
    }
    const start = at;
    if (FENCE.test(lines[at])) {
      at = upTo(lines, at + 1, (line) => FENCE.test(line));
      const code = element("code", {}, lines.slice(start + 1, at).join("\n"));
      made.push(element("pre", { dir: "ltr", tabindex: "0" }, code)); // What scrolls can be reached by keys.
      at++;
      context.pass(lines.slice(start, at).join());
    } else if (depth < DEEPEST && QUOTE.test(lines[at])) {
      at = upTo(lines, at, (line) => !QUOTE.test(line));
      const inner = lines.slice(start, at).map((line) => line.replace(QUOTE, ""));
      made.push(element("blockquote", {}, blocks(inner, context, depth + 1)));
    } else if (ITEM.test(lines[at])) {
      const isNumbered = kindOf(ITEM.exec(lines[at]));
      const isOther = (line) => ITEM.test(line) && !isInner(line) && kindOf(ITEM.exec(line)) !== isNumbered;
      at = upTo(lines, at + 1, (line) => isOther(line) || !continues(line, depth));
      made.push(list(lines.slice(start, at), context));
    } else {
      at = upTo(lines, at + 1, (line) => !line.trim() || isOpening(line, depth));
      made.push(element("p", {}, inline(lines.slice(start, at).join("\n"), context)));
    }
  }
  return made;
}

function isOpening(line, depth) {
  return FENCE.test(line) || ITEM.test(line) || (depth < DEEPEST && QUOTE.test(line));
}

function upTo(lines, from, isEnd) {
  let at = from;
  while (at < lines.length && !isEnd(lines[at])) at++;
  return at;
}

/** Whether a line belongs to the list above it: as an item, or as more of one. */
function continues(line, depth) {
  return INNER_ITEM.test(line) || (INDENTED.test(line) && !isOpening(line, depth));
}

function isInner(line) {
  return indentOf(line) >= STEP;
}

const indentOf = (line) => /^[ \t]*/.exec(line)[0].replaceAll("\t", TAB).length;
const kindOf = (item) => Boolean(item[2]);

/** Lines of items as a list, with lists in it for what stands further in. */
function list(lines, context) {
  const open = [];
  let words = null;
  for (const line of [...lines, null]) {
    const item = line !== null && INNER_ITEM.exec(line);
    if (line !== null && !item) {
      words.push(line.trim());
      continue;
    }
    if (words) open.at(-1).node.lastChild.append(...inline(words.join("\n"), context));
    if (line === null) break;
    words = [line.slice(item[0].length)];
    settle(open, indentOf(line), item);
    open.at(-1).node.append(element("li", {}));
  }
  return open[0].node;
}

/** Have the list on top of `open` be the one to which an item with this indent belongs. */
function settle(open, indent, item) {
  while (open.length > 1 && indent < Math.min(open.at(-1).indent, open.at(-2).indent + STEP)) open.pop();
  const top = open.at(-1);
  const isDeeper = top && indent >= top.indent + STEP && open.length < DEEPEST;
  if (top && !isDeeper && (open.length === 1 || kindOf(item) === top.isNumbered)) return;
  const node = kindOf(item) ? element("ol", { start: Number(item[2]) }) : element("ul");
  if (top && !isDeeper) open.pop();
  open.at(-1)?.node.lastChild.append(node);
  open.push({ node, indent: top && !isDeeper ? top.indent : indent, isNumbered: kindOf(item) });
}

// What is within a line.

/** Nodes under way: a stack of marks that were opened, each with what stands after it. */
class Open {
  #frames = [{ mark: "", children: [] }];

  add(node) {
    if (node !== "") this.#frames.at(-1).children.push(node);
  }
  addText(text) {
    for (const [index, line] of text.split("\n").entries()) {
      if (index) this.add(element("br"));
      this.add(line);
    }
  }
  has(mark) {
    return this.#frames.some((frame) => frame.mark === mark);
  }
  get top() {
    return this.#frames.at(-1).mark;
  }
  open(mark) {
    if (this.#frames.length > DEEPEST) this.add(mark);
    else this.#frames.push({ mark, children: [] });
  }
  close(mark) {
    while (this.top !== mark) this.#flatten();
    const { children } = this.#frames.pop();
    this.add(element(TAGS[mark], {}, children));
  }
  end() {
    while (this.#frames.length > 1) this.#flatten();
    return this.#frames[0].children;
  }

  /** The mark on top was never closed: it is text. */
  #flatten() {
    const { mark, children } = this.#frames.pop();
    const below = this.#frames.at(-1).children;
    below.push(mark);
    for (const child of children) below.push(child);
  }
}

function inline(text, context) {
  const open = new Open();
  const codeEnds = endsOfCode(text);
  let done = 0;
  let passed = 0;
  MARK.lastIndex = 0;
  for (let match = MARK.exec(text); match; match = MARK.exec(text)) {
    const at = match.index;
    context.pass(text.slice(passed, at));
    passed = at;
    const { node, end } = read(text, at, match[0], codeEnds, context);
    if (end === at && !/^[*_~]/.test(match[0])) continue;
    open.addText(text.slice(done, at));
    if (end > at) open.add(node);
    else emphasise(open, match[0], text[at - 1] ?? " ", text[at + match[0].length] ?? " ");
    done = MARK.lastIndex = Math.max(end, at + match[0].length);
  }
  context.pass(text.slice(passed));
  open.addText(text.slice(done));
  return open.end();
}

/** Read code, a link or a mention that begins here; `end` is where it began if it is none. */
function read(text, at, mark, codeEnds, context) {
  const none = { node: null, end: at };
  if (mark[0] === "`") return code(text, at, mark, codeEnds) ?? none;
  if (mark === "[") return namedLink(text, at) ?? none;
  if (mark === "@" || mark === "#") return context.read(text, at) ?? none;
  if (mark.endsWith("@")) return mail(text, at) ?? bareLink(text, at) ?? none;
  return /^[hmw]/i.test(mark) ? bareLink(text, at) ?? none : none;
}

/** For each run of backticks that has a counterpart of the same length, where that begins. */
function endsOfCode(text) {
  const ends = new Map();
  const next = new Map();
  for (const { 0: run, index } of [...text.matchAll(/`+/g)].reverse()) {
    if (next.has(run.length)) ends.set(index, next.get(run.length));
    next.set(run.length, index);
  }
  return ends;
}

function code(text, at, mark, codeEnds) {
  const close = codeEnds.get(at);
  if (close === undefined) return null;
  let inside = text.slice(at + mark.length, close);
  if (inside.trim() && inside.startsWith(" ") && inside.endsWith(" ")) inside = inside.slice(1, -1);
  return { node: element("code", { dir: "ltr" }, inside), end: close + mark.length };
}

function namedLink(text, at) {
  NAMED_LINK.lastIndex = at;
  const [whole, words, address] = NAMED_LINK.exec(text) ?? [];
  const node = whole && link(address, words);
  return node ? { node, end: at + whole.length } : null;
}

function bareLink(text, at) {
  BARE_LINK.lastIndex = at;
  const found = BARE_LINK.exec(text)?.[0];
  const address = found && withoutPunctuation(found);
  const node = address && link(address, address);
  if (node) node.dir = "ltr";
  return node ? { node, end: at + address.length } : null;
}

function mail(text, at) {
  MAIL.lastIndex = at;
  const found = MAIL.exec(text)?.[0];
  const node = found && link(`mailto:${found}`, found);
  if (node) node.dir = "ltr";
  return node ? { node, end: at + found.length } : null;
}

/** An address without what belongs to the sentence around it. */
function withoutPunctuation(address) {
  const count = (sign) => address.split(sign).length;
  const excess = { ")": count(")") - count("("), "]": count("]") - count("[") };
  let end = address.length;
  for (; end > 0; end--) {
    const last = address[end - 1];
    if (excess[last] > 0) excess[last]--;
    else if (!".,;:!?'*_~`".includes(last)) break;
  }
  return address.slice(0, end);
}

function link(given, words) {
  const address = /^www\./i.test(given) ? `https://${given}` : given;
  const url = URL.canParse(address) && new URL(address);
  if (!url || !["http:", "https:", "mailto:"].includes(url.protocol)) return null;
  if (url.protocol === "mailto:" && !url.pathname.includes("@")) return null;
  return element("a", { href: url.href, target: "_blank", rel: "noopener noreferrer nofollow" }, words);
}

/** Take a run of marks: each closes what it can, or opens, or is text. */
function emphasise(open, run, before, after) {
  const isWord = run[0] === "_" ? (char) => WORD.test(char) : () => false;
  const mayClose = /\S/.test(before) && !isWord(after);
  const mayOpen = /\S/.test(after) && !isWord(before);
  for (let left = run; left; ) {
    const mark = next(open, left, mayClose);
    if (!mark) return open.addText(left);
    if (mayClose && open.has(mark)) open.close(mark);
    else if (mayOpen) open.open(mark);
    else open.addText(mark);
    left = left.slice(mark.length);
  }
  return undefined;
}

function next(open, left, mayClose) {
  if (left[0] === "~") return left === "~~" ? left : null;
  if (left.length > 3) return null; // A row of stars or a line to fill in.
  if (left[0] === "_") return left.length === 1 ? "_" : null;
  if (mayClose && left.length !== 2 && open.top === "*") return "*";
  if (mayClose && left.length === 1 && !open.has("*")) return left;
  return left.length > 1 ? "**" : "*";
}
