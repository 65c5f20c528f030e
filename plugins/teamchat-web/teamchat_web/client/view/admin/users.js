// People: who is here, adding and removing them, and their passwords.
//
// A password is asked for only in password mode, and when adding only where the server
// sends no mail (interface, part 5: HAS_EMAIL); with mail the person is invited and chooses it themselves.

import { t } from "../../lib/strings.js";
import { confirm, openDialog } from "../dialog.js";
import { element } from "../../lib/dom.js";
import { checks, field, form } from "../form.js";
import { words } from "../notices.js";
import { avatar } from "../people.js";
import { roomsApi } from "../rooms/api.js";
import { explained } from "../rooms/explain.js";
import { row } from "../rows.js";
import { loaded } from "./list.js";

/** The section. */
export function users(ctx, dialog) {
  const list = loaded(ctx, {
    label: t("admin.users"),
    event: "users",
    load: async () => sorted(await ctx.api.users()),
    line: (user) => line(ctx, dialog, user),
    signal: dialog.signal,
  });
  return [adder(ctx, dialog, list), ...list.nodes];
}

function adder(ctx, dialog, list) {
  const { AUTH_MODE, HAS_EMAIL } = ctx.config;
  const roles = { user: t("admin.role_user"), admin: t("admin.role_admin") };
  const fields = [
    field({
      name: "email",
      label: t("common.email"),
      type: "email",
      autocomplete: "off",
      check: checks.email,
    }),
    field({ name: "role", label: t("admin.role"), options: roles }),
  ];
  if (AUTH_MODE === "password" && !HAS_EMAIL) fields.push(passwordField(ctx.config));
  const isInvited = AUTH_MODE === "password" && HAS_EMAIL;
  return form({
    fields,
    action: t("admin.user_add"),
    kind: "line",
    send: async ({ email, role, password }, node) => {
      await ctx.api.addUser({ email, role, password: password || undefined });
      node.reset();
      list.reload();
      dialog.say(t(isInvited ? "admin.user_invited" : "admin.user_added", { email }));
    },
    explain: ({ status, message }) =>
      status === 400 && {
        field: message.startsWith("password") ? "password" : "email",
        text: message.includes("exists") ? t("sign_in.email_taken") : message,
      },
  });
}

/** The first password of a new user; who signs in at a provider needs none. */
function passwordField(config) {
  const check = (value) => (config.ENABLE_OAUTH && !value ? null : checks.password(value));
  return newPassword(config, check);
}

function newPassword({ MUST_CHANGE_SET_PASSWORDS }, check = checks.password) {
  const hint = t("admin.user_password_hint");
  return field({
    name: "password",
    label: t("common.password"),
    type: "password",
    autocomplete: "new-password",
    hint: MUST_CHANGE_SET_PASSWORDS ? `${hint} ${t("admin.password_is_changed")}` : hint,
    check,
  });
}

function line(ctx, dialog, user) {
  const isMe = user.id === ctx.model.me.id;
  const name = user.userName;
  const reset = ctx.config.AUTH_MODE === "password" && !user.isBot && {
    icon: "key",
    label: t("admin.password_reset", { name }),
    act: () => resetPassword(ctx, dialog, user),
  };
  const remove = !isMe && {
    icon: "trash",
    label: t("admin.user_remove", { name }),
    act: () => removeUser(ctx, dialog, user),
  };
  const role = ctx.model.capabilities.roles && !user.isBot && {
    icon: user.isAdmin ? "down" : "up",
    label: t(user.isAdmin ? "admin.make_user" : "admin.make_admin", { name }),
    act: () => setRole(ctx, dialog, user),
  };
  const shut = !isMe && ctx.model.capabilities.deactivation && {
    icon: user.isDeactivated ? "check" : "lock",
    label: t(user.isDeactivated ? "admin.activate" : "admin.deactivate", { name }),
    act: () => (user.isDeactivated ? activate : deactivate)(ctx, dialog, user),
  };
  return row({
    id: user.id,
    person: user.id,
    lead: avatar(user),
    title: name,
    tags: [
      user.isAdmin && t("admin.role_admin"),
      user.isBot && t("message.bot"),
      isMe && t("admin.you"),
      user.isDeactivated && t("person.deactivated"),
    ],
    detail: user.email,
    actions: [role, reset, shut, remove],
  });
}

async function removeUser(ctx, dialog, { id, userName: name }) {
  const isDone = await confirm(ctx, {
    title: t("admin.user_remove_title", { name }),
    lead: t("admin.user_remove_lead", { name }),
    action: t("common.remove"),
    act: () => ctx.api.removeUser(id),
  });
  if (isDone) dialog.say(t("admin.user_removed", { name }));
}

async function deactivate(ctx, dialog, { id, userName: name }) {
  const isDone = await confirm(ctx, {
    title: t("admin.deactivate_title", { name }),
    lead: t("admin.deactivate_lead", { name }),
    action: t("admin.deactivate_short"),
    act: () => ctx.api.setActive(id, false),
  });
  if (isDone) dialog.say(t("admin.deactivated", { name }));
}

async function activate(ctx, dialog, { id, userName: name }) {
  try {
    await ctx.api.setActive(id, true);
    dialog.say(t("admin.activated", { name }));
  } catch (error) {
    dialog.say(words(error));
  }
}

/** Make somebody an administrator, or one no longer: oneself too, as long as there is another. */
async function setRole(ctx, dialog, { id, userName: name, isAdmin }) {
  const isMe = id === ctx.model.me.id;
  const asked = isAdmin
    ? { title: "admin.make_user_title", lead: isMe ? "admin.make_user_self" : "admin.make_user_lead" }
    : { title: "admin.make_admin_title", lead: "admin.make_admin_lead" };
  const isDone = await confirm(ctx, {
    title: t(asked.title, { name }),
    lead: t(asked.lead, { name }),
    action: t(isAdmin ? "admin.make_user_short" : "admin.make_admin_short"),
    act: () => roomsApi(ctx).setUserRole(id, isAdmin ? "user" : "admin"),
    explain: explained,
  });
  if (isDone) dialog.say(t(isAdmin ? "admin.made_user" : "admin.made_admin", { name }));
}

function resetPassword(ctx, dialog, { id, userName: name }) {
  const set = form({
    fields: [newPassword(ctx.config)],
    action: t("admin.password_reset_short"),
    send: async ({ password }) => {
      await ctx.api.resetPassword(id, password);
      asked.close();
      dialog.say(t("admin.password_is_reset", { name }));
    },
    explain: ({ status, message }) => status === 400 && { field: "password", text: message },
  });
  const lead = element("p", { class: "soft" }, t("admin.password_reset_lead"));
  const body = element("div", { class: "dialog-body stack" }, lead, set);
  const asked = openDialog(ctx, { title: t("admin.password_reset_title", { name }) }, body);
  set.elements.password.focus();
}

function sorted(users) {
  return users.toSorted((one, other) => one.userName.localeCompare(other.userName));
}
