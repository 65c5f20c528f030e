// What the administrator of an empty server does first. Each step opens what administration has for it.

import { Administration } from "../../api/administration.js";
import { admin } from "../sidebar.js";
import { openInvite } from "./invite.js";
import { step } from "./step.js";

const DEFAULT_NAME = "teamchat";

/** The steps; a webhook is known of when the server is asked. */
export async function adminSteps(ctx) {
  const { model, api, signal } = ctx;
  let hasBot = false;
  const ask = async () => {
    try {
      hasBot = (await new Administration(api).webhooks()).length > 0;
      model.emit("greeting");
    } catch {
      // The step stays open; it can be dismissed.
    }
  };
  model.on("webhooks", ask, signal);
  await ask();
  return {
    steps: [
      step("server", "sliders", () => model.serverName !== DEFAULT_NAME, () => admin(ctx, "server")),
      step("invite", "users", () => model.users.size > 1, () => openInvite(ctx)),
      step("channels", "hash", () => model.channels.size > 1, () => admin(ctx, "channels")),
      step("bot", "plug", () => hasBot, () => admin(ctx, "webhooks")),
    ],
  };
}
