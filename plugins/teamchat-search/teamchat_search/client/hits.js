// What was found, as a list: who, where, when, and the words around what matches, which is marked. The server's offsets
// count code points.

const BEFORE = 60; // code points shown before the first match
const SHOWN = 260;

/** One hit as a list item; `open` leads to it, `around` shows what was said before and after. */
export function hitOf(teamchat, { message, place, highlights }, { open, around }) {
  const { element, avatar, icon, t, dateTime, userName } = teamchat;
  const name = userName(message.author.id) ?? message.author.userName;
  const room = teamchat.roomOf(place.id);
  const where = place.kind === "channel" && place.name ? `#${place.name}` : (room?.title ?? place.name ?? t("direct"));
  const link = { type: "button", class: "message-link search-hit", dataset: { id: message.id }, on: { click: open } };
  const words = element("span", { class: "search-words", dir: "auto" }, marked(element, message.content, highlights));
  const about = element(
    "span",
    { class: "search-about" },
    avatar({ ...message.author, userName: name }),
    element("strong", { dir: "auto" }, name),
    element("span", { class: "small soft" }, element("bdi", {}, where), ` · ${dateTime(message.createdAt)}`),
  );
  const more = { type: "button", class: "icon-button", "aria-label": t("around"), title: t("around"), on: { click: around } };
  const files = (message.files ?? []).map(({ name }, number) => element(
    "span",
    { class: "search-words search-file small" },
    icon("file"),
    element("bdi", {}, marked(element, name, highlights, `files[${number}].name`)),
  ));
  const none = files.length ? "" : element("span", { class: "soft" }, t("no_words"));
  const item = element("button", link, about, message.content ? words : none, files);
  return element("li", {}, item, element("div", { class: "row-actions" }, element("button", more, icon("thread"))));
}

/** The words of a field from a little before the first match on, with all matches marked. */
export function marked(element, content, highlights, field = "content") {
  const points = [...content];
  const marks = highlights.filter((one) => one.field === field).sort((a, b) => a.offset - b.offset);
  const start = Math.max(0, (marks[0]?.offset ?? 0) - BEFORE);
  const end = Math.min(points.length, start + SHOWN);
  const text = (from, to) => points.slice(from, to).join("");
  const parts = start ? ["…"] : [];
  let at = start;
  for (const { offset, length } of marks) {
    const to = Math.min(offset + length, end);
    if (to <= at) continue;
    const from = Math.max(offset, at);
    parts.push(text(at, from), element("mark", {}, text(from, to)));
    at = to;
  }
  return [...parts, text(at, end), end < points.length ? "…" : ""];
}

/** What was said around a message, oldest first, in a line each. */
export function aroundOf({ element, plainText, userName, time }, messages, id) {
  return element(
    "ol",
    { class: "search-around" },
    messages.map((one) => element(
      "li",
      { class: one.id === id ? "search-self" : "" },
      element("strong", { dir: "auto" }, userName(one.author.id) ?? one.author.userName),
      element("span", { class: "small soft" }, ` ${time(one.createdAt)} `),
      element("span", { dir: "auto" }, plainText(one.content)),
    )),
  );
}
