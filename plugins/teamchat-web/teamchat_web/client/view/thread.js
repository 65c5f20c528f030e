// The thread beside the conversation: the message it hangs from, the replies, a composer of its own.
import { element, icon, replace } from "../lib/dom.js";
import "../lib/more_strings.js";
import { t } from "../lib/strings.js";
import { composer } from "./composer.js";
import { messageView } from "./message.js";
import { words } from "./notices.js";
import { participants } from "./participants.js";
import { needsSheets } from "./sheet.js";
import { TimelineView } from "./timeline.js";
import { unsent } from "./vacant.js";

needsSheets("people", "notices");

/**
 * @param {object} ctx its signal ends this panel
 * @param {object} place the channel
 * @param {string} parentId
 * @param {() => void} close
 * @returns {{element: HTMLElement, focus: () => void}}
 */
export function thread(ctx, place, parentId, close) {
  const timeline = ctx.model.thread(parentId, place);
  const panel = element("aside", { class: "thread", "aria-label": t("thread.title") });
  let focus = () => panel.querySelector("button").focus();
  let control = null;

  function show() {
    control = new AbortController();
    const field = replies({ ...ctx, signal: AbortSignal.any([ctx.signal, control.signal]) }, timeline, panel);
    panel.prepend(head(ctx, timeline, close));
    focus = field.focus;
  }

  /** The message was deleted, and the replies with it. */
  function end() {
    if (!timeline.isGone || panel.querySelector(".empty")) return;
    const hadFocus = panel.contains(document.activeElement);
    control?.abort();
    control = null;
    replace(panel, head(ctx, { place, parentId }, close), gone(ctx, place, parentId));
    focus = () => panel.querySelector(".empty").focus();
    if (hadFocus) focus();
  }

  panel.addEventListener("keydown", (event) => event.key === "Escape" && !event.defaultPrevented && close());
  timeline.on("state", end, ctx.signal);
  if (!timeline.isGone) show();
  end();
  return { element: panel, focus: () => focus() };
}

function replies(ctx, timeline, panel) {
  const { place, parentId } = timeline;
  const field = composer(ctx, {
    place,
    parentId,
    placeholder: t("thread.placeholder"),
    editLast: () => view.editLast(),
  });
  const parent = () =>
    timeline.parent && [
      messageView(ctx, timeline.parent, { isThread: true }),
      element("p", { class: "day" }, t("message.replies", { count: timeline.items.length })),
      participants(ctx, timeline),
    ];
  const view = new TimelineView(ctx, timeline, {
    label: t("thread.title"),
    isThread: true,
    leave: field.focus,
    beginning: () => element("div", { class: "parent" }, parent() ?? []),
  });
  replace(panel, view.element, field.element);
  ctx.slots.offer("thread", panel, { ctx, place, parentId, view });
  return field;
}

function head(ctx, { place, parentId }, close) {
  return element(
    "header",
    { class: "bar" },
    element("h2", {}, t("thread.title")),
    element("bdi", { class: "soft small name" }, ctx.model.place(place.id)?.label),
    element("span", { class: "grow" }),
    follow(ctx, parentId),
    element(
      "button",
      {
        type: "button",
        class: "icon-button",
        "aria-label": t("thread.close"),
        title: `${t("thread.close")} (Esc)`,
        on: { click: close },
      },
      icon("close"),
    ),
  );
}

/** Whether one follows the thread, as a button that changes it and says so in words. */
function follow({ model, signal, toast }, id) {
  const isFollowed = () => model.unread.state(id)?.following ?? model.threads.has(id);
  const act = async () => {
    try {
      await model.threadStates.follow(id, !isFollowed());
    } catch (error) {
      toast(words(error), { kind: "danger" });
    }
  };
  const look = { type: "button", class: "button button-quiet button-small", on: { click: act } };
  const button = element("button", look);
  const draw = () => {
    button.hidden = !model.threadStates;
    button.textContent = t(isFollowed() ? "thread.following" : "thread.follow");
    button.title = isFollowed() ? t("thread.unfollow") : "";
  };
  for (const told of [model.threads, model.unread]) told.on("changed", draw, signal);
  draw();
  return button;
}

function gone(ctx, place, parentId) {
  const draft = ctx.model.drafts.get(place, parentId);
  return element(
    "section",
    { class: "empty", tabindex: "-1" },
    icon("thread"),
    element("h3", {}, t("thread.gone")),
    element("p", {}, t("thread.gone_lead")),
    draft && unsent(draft.text ?? draft),
  );
}
