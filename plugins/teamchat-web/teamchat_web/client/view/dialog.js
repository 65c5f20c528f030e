// Dialogs: a heading, a way out, a place for news, and whatever they are about.
//
// Escape and the close button end every dialog, and so does the end of the session; a
// dialog that has closed is gone from the document, and the focus is back where it came from. While it is held, the
// end of the session alone ends it: something is shown that is shown only once. News is told
// inside the dialog, because all that lies outside a modal dialog, live regions too, is inert.

import { element, icon, replace } from "../lib/dom.js";
import { t } from "../lib/strings.js";
import "./layers.js";
import { words } from "./notices.js";

const NEWS_MS = 6000;
const timers = new WeakMap();
let made = 0;

/**
 * Open a dialog.
 * @param {object} ctx
 * @param {{title: string, kind?: string, isLasting?: boolean}} look `kind` is one more class; a lasting
 *   dialog is not closed by a click beside it
 * @param {...Node} content what stands below the heading
 * @returns {{node: HTMLDialogElement, say: function(string): void, close: function(): void,
 *   hold: function(?function(): void): void, mayLeave: function(): boolean}} `hold` keeps it open, and calls what it
 *   was given when somebody wants to leave, until it gets null; `mayLeave` is for other ways out than its own
 */
export function openDialog(ctx, { title, kind = "", isLasting = false }, ...content) {
  const id = `dialog-${++made}`;
  const usual = isLasting ? "closerequest" : "any";
  let held = null;
  const close = () => node.close();
  const hold = (refuse) => {
    held = refuse;
    node.setAttribute("closedby", refuse ? "none" : usual);
  };
  const mayLeave = () => {
    held?.();
    return !held;
  };
  const news = element("p", { class: "toast dialog-news", role: "status", hidden: true });
  const head = element("div", { class: "dialog-head" }, element("h2", { id }, title), closer(() => mayLeave() && close()));
  const node = element(
    "dialog",
    { class: `dialog ${kind}`, "aria-labelledby": id, closedby: usual },
    head,
    content,
    news,
  );
  node.addEventListener("close", (event) => event.target === node && node.remove());
  node.addEventListener("keydown", (event) => {
    if (!leavesSearch(event) && !(held && isEscape(event))) return;
    event.preventDefault(); // else Escape closes the dialog beneath, too
    if (mayLeave()) close();
  });
  node.addEventListener("cancel", (event) => {
    // Browsers that don't know `closedby="none"` ask here.
    if (event.target === node && !mayLeave()) event.preventDefault();
  });
  ctx.signal?.addEventListener("abort", close, { once: true });
  document.body.append(node);
  node.showModal();
  return { node, close, hold, mayLeave, say: (text) => tell(news, text) };
}

/** Whether it is Escape in a search field, which WebKit's keep to themselves, as popup.js knows too. */
function leavesSearch(event) {
  return isEscape(event) && event.target.type === "search";
}

function isEscape({ key, isComposing, defaultPrevented }) {
  return key === "Escape" && !isComposing && !defaultPrevented;
}

/**
 * Ask before something is done that can't be undone; do it when the answer is yes, and say what failed.
 * @param {object} ctx
 * @param {{title: string, lead: string, action: string, act: function(): Promise,
 *   explain?: function(Error): string}} asked
 * @returns {Promise<boolean>} whether it was done
 */
export function confirm(ctx, { title, lead, action, act, explain = words }) {
  return new Promise((resolve) => {
    let isDone = false;
    const problem = element("p", { class: "note note-danger", role: "alert", hidden: true });
    const no = element("button", { class: "button", type: "button", on: { click: () => dialog.close() } });
    const danger = { class: "button button-danger", type: "button", on: { click: run } };
    const yes = element("button", danger, action);
    no.append(t("common.cancel"));
    const dialog = openDialog(
      ctx,
      { title },
      element("div", { class: "dialog-body stack" }, element("p", {}, lead), problem),
      element("div", { class: "dialog-foot" }, no, yes),
    );
    dialog.node.addEventListener("close", () => resolve(isDone));
    no.focus();

    async function run() {
      if (yes.ariaBusy === "true") return;
      yes.ariaBusy = "true";
      try {
        await act();
        isDone = true;
        dialog.close();
      } catch (error) {
        replace(problem, explain(error)).hidden = false;
      } finally {
        yes.ariaBusy = "false";
      }
    }
  });
}

function closer(close) {
  const properties = { class: "icon-button", type: "button", "aria-label": t("common.close") };
  return element("button", { ...properties, on: { click: close } }, icon("close"));
}

/** Show news for a while; a region that is there before its words is the one that is read out. */
function tell(news, text) {
  news.hidden = false;
  news.textContent = "";
  requestAnimationFrame(() => (news.textContent = text));
  clearTimeout(timers.get(news));
  timers.set(news, setTimeout(() => (news.hidden = true), NEWS_MS));
}
