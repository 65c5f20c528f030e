// Files in the web client: what is chosen, dropped, pasted or shared goes up at once and along with the next message;
// what messages have is shown, played and saved; and a room's files in a list.

import { Blocks } from "./blocks.js";
import { openList } from "./list.js";
import { Shared } from "./shared.js";
import { Strip } from "./strip.js";
import { Uploads } from "./uploads.js";

const ICONS = {
  attach: "M20 11.5l-8.2 8.2a5 5 0 0 1-7.1-7.1L13 4.4a3.3 3.3 0 0 1 4.7 4.7l-8.3 8.2a1.7 1.7 0 0 1-2.4-2.3L14.5 7.5",
  file: "M6 3h8l5 5v13H6zM14 3v5h5",
  forward: "M13 5l7 7-7 7M20 12H9a5 5 0 0 0-5 5v2",
  save: "M12 4v11M7 11l5 5 5-5M5 20h14",
  pause: "M8 5v14M16 5v14",
  play: "M8 5l11 7-11 7z",
  again: "M20 12a8 8 0 1 1-2.5-5.8M20 3v4h-4",
};
// What the client sends as images, which it shows in the message; see its own button for them.
const IMAGES = ["image/png", "image/jpeg", "image/webp", "image/svg+xml"];
const MOST_IMAGE_BYTES = 10 * 1024 * 1024;

export default function (teamchat) {
  const { t } = teamchat;
  for (const [name, drawn] of Object.entries(ICONS)) teamchat.addIcon(name, drawn);
  const uploads = new Uploads(teamchat);
  const strip = new Strip(teamchat, uploads);
  const shared = new Shared(teamchat, uploads, () => redraw());
  const blocks = new Blocks(teamchat, uploads);

  teamchat.composer.add({
    icon: "attach",
    label: t("attach"),
    run: (about) => choose((files) => uploads.add(about, files)),
  });
  const redraw = teamchat.posts.add({
    fields: (about) => uploads.fields(about),
    isWhole: (about) => uploads.at(about).some(({ state }) => state === "done"),
    isBusy: (about) => uploads.at(about).some(({ state }) => state !== "done"),
    take: (about, files) => {
      const isImage = ({ type, size }) => IMAGES.includes(type) && size <= MOST_IMAGE_BYTES;
      const others = files.filter((file) => !isImage(file));
      if (others.length) uploads.add(about, others);
      return files.filter(isImage);
    },
    sent: (about) => uploads.sent(about),
    show: (about) => above(teamchat, [shared.bar(about), strip.show(about)]),
  });
  uploads.onChange(redraw);

  teamchat.messageBlocks.add({
    isBelow: true,
    isFor: (message) => blocks.of(message).length > 0,
    make: (message) => blocks.make(message),
  });
  teamchat.on("FILE_CHANGED", (file) => blocks.changed(file));
  for (const kind of ["MESSAGE", "DM_MESSAGE", "THREAD_REPLY"]) {
    teamchat.on(`UPDATE_${kind}`, (message) => blocks.edited(message.reply ?? message));
  }
  for (const type of ["DELETE_CHANNEL", "RESYNC"]) teamchat.on(type, () => uploads.prune());

  teamchat.roomHeader.add({
    icon: "file",
    label: t("list"),
    run: (room) => openList(teamchat, blocks, room),
  });
  teamchat.palette.add({
    icon: "file",
    label: t("list"),
    isFor: (room) => room !== null,
    run: (room) => openList(teamchat, blocks, room),
  });
  uploads.start();
  shared.start();
}

/** One node of those that are there, or null. */
function above({ element }, nodes) {
  const there = nodes.filter(Boolean);
  return there.length > 1 ? element("div", {}, there) : (there[0] ?? null);
}

/** Have the person choose files. */
function choose(take) {
  const picker = document.createElement("input");
  picker.type = "file";
  picker.multiple = true;
  picker.addEventListener("change", () => take([...picker.files]));
  picker.click();
}
