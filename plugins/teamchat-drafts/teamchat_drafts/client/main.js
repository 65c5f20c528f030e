// Drafts in the web client: what is written and not sent follows to other devices, and what was sent anywhere comes back
// nowhere. What two devices wrote at the same time is both there: one in the field, the other above it.

import { Syncing } from "./syncing.js";

const DRAFT = "M5 4h9l5 5v11H5zM14 4v5h5M8 13h8M8 16.5h5";

export default function (teamchat) {
  const { posts, drafts } = teamchat;
  let redraw = () => {};
  teamchat.addIcon("draft", DRAFT);
  const syncing = new Syncing(teamchat, () => redraw());
  redraw = posts.add({
    fields: ({ place, parentId }) => syncing.fields({ placeId: place.id, parentId: parentId ?? null }),
    sent: ({ place, parentId }) => syncing.sent({ placeId: place.id, parentId: parentId ?? null }),
    discarded: (about, { draftId }) => draftId && (syncing.discard(draftId), endDiscarded()),
    show: ({ place, parentId }) => others(teamchat, syncing, { placeId: place.id, parentId: parentId ?? null }),
  });
  drafts.onChange((where) => syncing.written(where));
  teamchat.on("DELETE_CHANNEL", ({ id }) => syncing.lost(id));
  teamchat.on("DRAFT_CHANGED", (changed) => syncing.changed(changed));
  teamchat.load(() => syncing.read());
  const endDiscarded = teamchat.load(() => syncing.endDiscarded());
}

/** Drafts of the same place that stand beside the one in the field. */
function others(teamchat, syncing, where) {
  const { t, element, icon } = teamchat;
  const all = syncing.others(where);
  if (!all.length) return null;
  const button = (says, sign, act) =>
    element("button", { type: "button", class: "icon-button", "aria-label": says, title: says, on: { click: act } }, icon(sign));
  const line = (draft) =>
    element(
      "li",
      {},
      icon("draft"),
      element("span", { class: "drafts-words", dir: "auto" }, t("other"), " ", element("q", {}, draft.content)),
      button(t("take"), "edit", () => syncing.take(where, draft)),
      button(t("drop"), "close", () => syncing.drop(draft)),
    );
  return element("ul", { class: "drafts-others", "aria-label": t("others") }, all.map(line));
}
