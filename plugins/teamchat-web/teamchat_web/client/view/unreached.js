// What the author is told of those whom a message mentions and who do not see it: nobody else hears of it.

import "../lib/more_strings.js";
import { t } from "../lib/strings.js";

/** Say who they are. */
export function tellUnreached({ model, toast }, { item: { place }, unreached }) {
  const names = unreached.map((id) => model.userName(id) ?? "?");
  const listed = new Intl.ListFormat(document.documentElement.lang).format(names);
  const key = place.kind === "channel" ? "mentions.unreached" : "mentions.unreached_here";
  toast(t(key, { names: listed, count: names.length }));
}
