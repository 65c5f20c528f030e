// The thread beside the conversation: the message it hangs from, the replies, a composer of its own.
import { element, icon } from "../lib/dom.js";
import "../lib/more_strings.js";
import { t } from "../lib/strings.js";
import { acceptDrops, composer } from "./composer.js";
import { messageView } from "./message.js";
import { TimelineView } from "./timeline.js";

/**
 * @param {object} ctx its signal ends this panel
 * @param {object} place the channel
 * @param {string} parentId
 * @param {() => void} close
 * @returns {{element: HTMLElement, focus: () => void}}
 */
export function thread(ctx, place, parentId, close) {
  const timeline = ctx.model.thread(parentId, place);
  const field = composer(ctx, {
    place,
    parentId,
    placeholder: t("thread.placeholder"),
    editLast: () => view.editLast(),
  });
  const parent = () =>
    timeline.parent
      ? [
          messageView(ctx, timeline.parent, { isThread: true }),
          element("p", { class: "day" }, t("message.replies", { count: timeline.items.length })),
        ]
      : element("p", { class: "empty" }, t("thread.gone"));
  const view = new TimelineView(ctx, timeline, {
    label: t("thread.title"),
    isThread: true,
    leave: field.focus,
    beginning: () => element("div", { class: "parent" }, parent()),
  });
  const panel = element(
    "aside",
    { class: "thread", "aria-label": t("thread.title") },
    element(
      "header",
      { class: "bar" },
      element("h2", {}, t("thread.title")),
      element("span", { class: "soft small name" }, `#${ctx.model.place(place.id)?.title ?? ""}`),
      element("span", { class: "grow" }),
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
    ),
    view.element,
    field.element,
  );
  panel.addEventListener("keydown", (event) => event.key === "Escape" && !event.defaultPrevented && close());
  acceptDrops(panel, () => field);
  return { element: panel, focus: field.focus };
}
