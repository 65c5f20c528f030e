// What the part of a capability is given: the slots, the events, and the means of the client. All of it, and
// nothing else, stands in docs/reference/client-extensions.md; a test compares.

import { path } from "../../api/api.js";
import { blobAt, sendBytes } from "../../api/bytes.js";
import { ApiError, Unreachable } from "../../api/http.js";
import { assign, element, icon, replace } from "../../lib/dom.js";
import { dropFiles, keepFiles, keptFiles } from "../../lib/files.js";
import { Kept } from "../../lib/kept.js";
import { addIcon } from "../../lib/more_icons.js";
import { plainText } from "../../lib/plain_text.js";
import { dateTime, day, language, t, time } from "../../lib/strings.js";
import { exclusively, newId } from "../../lib/tabs.js";
import { confirm, openDialog } from "../dialog.js";
import { checks, field, form } from "../form.js";
import { openMessage } from "../jump.js";
import { words } from "../notices.js";
import { showOnce } from "../once.js";
import { avatar } from "../people.js";
import { openMenu } from "../popup.js";
import { draw, row, rows } from "../rows.js";
import { messageList } from "./message_list.js";
import { drafts } from "./posts.js";
import { SLOTS, Tool, guard, warn } from "./registry.js";

const icons = new Set(); // Those that parts have drawn; a page has each once.

/**
 * Make what one part is given.
 * @param {object} ctx
 * @param {object} registry of the session
 * @param {import("./host.js").Host} host
 * @param {{name: string, version: number, limits: object}} about the capability, as it is announced
 * @param {import("./posts.js").Posts} posts
 */
export function facade(ctx, registry, host, { name, version, limits }, posts) {
  const { model, signal } = ctx;
  const own = (icon) => iconOf(name, icon);
  const guarded = guard(name);
  const open = (message) => openMessage(ctx, message);
  const tells = (run) => (...about) => new Tool(name, { run }).run(ctx, ...about); // what it throws
  const button = (one) => one && { ...one, icon: own(one.icon), act: tells(one.act) };
  const slots = SLOTS.map((slot) => [
    slot,
    { add: (tool) => registry.add(slot, new Tool(name, { ...tool, icon: own(tool.icon) })) },
  ]);
  return {
    ...Object.fromEntries(slots),
    name,
    version,
    limits,
    signal,
    language: language(),
    t: (key, values) => said(name, key, values),
    kept: new Kept(ctx.kept.name(`extensions/${name}`)),

    keptFiles: keptBy(`${model.me.id}/${name}`),

    api: requests(ctx.api),
    ApiError,
    Unreachable,
    words,

    get me() {
      return model.me;
    },
    userName: (id) => model.userName(id),
    get room() {
      return roomOf(ctx);
    },
    roomOf: (id) => known(model, id),
    get rooms() {
      return [...model.sortedChannels(), ...model.sortedDirect()].map(({ id }) => known(model, id)).filter(Boolean);
    },
    go: (room) => ctx.router.go(room),
    messages: {
      find: (id) => find(model, id),
      update: (id, fields) => model.update(id, fields),
      open,
    },

    compose: (about) => posts.compose(about),
    drafts: drafts(ctx, posts, (heard) => (where) => guarded(() => heard(where))),
    exclusively: (work) => exclusively(`teamchat-${name}-${model.me.id}`, work, signal),

    ...events(ctx, registry, host, name),

    element,
    assign,
    replace,
    icon: (shown) => icon(own(shown)),
    addIcon: (given, drawn) => draws(`${name}-${given}`, drawn),
    avatar,
    plainText,
    time,
    day,
    dateTime,

    dialog: (look, ...content) => openDialog(ctx, look, ...content),
    confirm: (asked) => confirm(ctx, asked),
    showOnce,
    menu: (at, items) =>
      openMenu(at, items.map((item) => ({ ...item, icon: own(item.icon), run: tells(item.run) }))),
    toast: (text, { kind, action } = {}) =>
      ctx.toast(text, { kind, action: action && { ...action, run: tells(action.run) } }),
    announce: ctx.announce,
    form,
    field,
    checks,
    row: ({ actions = [], ...about }) => row({ ...about, actions: actions.map(button) }),
    list: ({ label, none }) => {
      const node = rows(label);
      return { node, draw: (made) => draw(node, made, none) };
    },
    messageList: ({ actions = () => [], ...look }) =>
      messageList(ctx, { ...look, actions: (message) => actions(message).map(button), open }),
  };
}

/** Requests as the user, with the errors of the client's own. */
function requests(api) {
  const send = (method) => (address, body, { key, match } = {}) =>
    api.send(method, address, { body, headers: { ...(key && { "Idempotency-Key": key }), ...condition(match) } });
  return {
    path,
    newKey: newId,
    get: (address) => api.send("GET", address),
    post: (address, body = {}, options) => send("POST")(address, body, options),
    put: send("PUT"),
    delete: send("DELETE"),
    url: (address) => api.http.url(address),
    blob: (address) => blobAt(api, address),
    send: (method, address, options) => sendBytes(api, method, address, options),
  };
}

/** Files that survive a reload, of one capability. */
function keptBy(owner) {
  return {
    get: async (id) => (await keptFiles(`${owner}/${id}`))[0] ?? null,
    set: (id, file) => keepFiles(`${owner}/${id}`, [file]),
    delete: (id) => dropFiles(`${owner}/${id}`),
  };
}

/** The version that a request is about; null is for what is not there yet. */
function condition(match) {
  return match === null ? { "If-None-Match": "*" } : match === undefined ? {} : { "If-Match": `"${match}"` };
}

/** Events by type, and what has to be read anew where events were missed. */
function events(ctx, registry, host, capability) {
  const { model, router, signal } = ctx;
  const safely = guard(capability);
  const listeners = []; // that have not heard yet what was told before

  function on(type, heard) {
    const listener = (payload) => safely(() => heard(payload));
    registry.on(`event ${type}`, listener, signal);
    // Once the part has begun, for what it hears with may stand below; and for all types at once, in their order.
    if (listeners.push([type, listener]) === 1) queueMicrotask(catchUp);
  }

  function catchUp() {
    const all = listeners.splice(0);
    for (const { type, payload } of host.past) {
      for (const [heardType, listener] of all) if (heardType === type) listener(payload);
    }
  }

  function load(read) {
    let hasFailed = false;
    const again = () =>
      safely(async () => {
        hasFailed = true;
        await read();
        hasFailed = false;
      });
    model.on("connection", () => model.connection === "online" && hasFailed && again(), signal);
    registry.on("event RESYNC", again, signal);
    queueMicrotask(again);
    return again;
  }

  function onRoom(shown) {
    let last = roomOf(ctx)?.id;
    const again = load(() => shown(roomOf(ctx)));
    const look = () => {
      const id = roomOf(ctx)?.id;
      if (id === last) return;
      last = id;
      again();
    };
    for (const type of ["channels", "conversations", "loaded"]) model.on(type, look, signal);
    router.on("changed", look, signal);
  }

  return { on, load, onRoom };
}

function roomOf({ model, router }) {
  const { place } = router.current;
  return (place && known(model, place.id)) ?? null;
}

/** A room as parts know it, with what the user is in it. */
function known(model, id) {
  const place = model.place(id);
  return place && { ...place, role: model.channels.get(id)?.role ?? null };
}

/** A message that is here, in whatever list. */
function find(model, id) {
  for (const timeline of model.timelines) {
    const found = timeline.find(id) ?? (timeline.parent?.id === id ? timeline.parent : null);
    if (found) return found;
  }
  return null;
}

/** Words of a capability, or the key where it has none for it. */
function said(capability, key, values) {
  const full = `${capability}/${key}`;
  const found = t(full, values);
  if (found !== full) return found;
  warn(capability, `has no words for "${key}" in strings/en.json`);
  return key;
}

/** The name that an icon has in the page, for one that the capability has drawn itself or one of the client's. */
function iconOf(capability, icon) {
  if (!icon || icons.has(`${capability}-${icon}`)) return icon && `${capability}-${icon}`;
  if (!document.getElementById(`icon-${icon}`)) {
    warn(capability, `asks for the icon "${icon}", which the client lacks and addIcon was not given before`);
  }
  return icon;
}

function draws(name, drawn) {
  if (!icons.has(name)) addIcon(name, drawn);
  icons.add(name);
}
