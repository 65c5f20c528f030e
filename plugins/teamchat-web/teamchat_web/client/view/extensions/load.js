// What capabilities bring to the client: a folder each, served beside the client's own files and named by
// `extensions.json`. Of these the ones are loaded that the server announces (GET /capabilities), once the first
// view is there. Each is on its own: one that can't be loaded, or throws as it begins, is missing and told of in
// the console, and the others are there.

import { part } from "../../lib/parts.js";
import { addWords, language } from "../../lib/strings.js";
import { learnRights } from "../../model/rights.js";

const ROOT = new URL("../../", import.meta.url);
const FALLBACK = "en";

/**
 * Load them all.
 * @param {object} ctx of the whole session
 */
export async function loadExtensions(ctx) {
  const offered = await read("extensions.json").catch(() => ({}));
  const names = Object.keys(offered);
  if (!names.length) return ctx.slots.take(() => {});
  const { Host } = await part(import("./host.js"));
  const host = new Host(ctx);
  const announced = await learnRights(ctx);
  const some = names.filter((name) => announced[name] && !ctx.signal.aborted);
  await Promise.all(some.map((name) => start(host, name, offered[name], announced[name])));
  return host.allStarted();
}

async function start(host, name, { style, strings }, { version, ...limits }) {
  try {
    const folder = `extensions/${name}`;
    const [module] = await Promise.all([
      import(new URL(`${folder}/main.js`, ROOT).href),
      addStrings(name, folder, strings),
      style && host.addSheet(new URL(`${folder}/style.css`, ROOT).href),
    ]);
    await host.start(module.default, { name, version, limits });
  } catch (error) {
    console.error(`The part of ${name} in the client could not begin.`, error);
  }
}

/** Make its words known as "NAME/KEY"; what the language lacks is English. */
async function addStrings(name, folder, languages) {
  const wanted = [FALLBACK, language()].filter((one, at, all) => languages.includes(one) && all.indexOf(one) === at);
  for (const table of await Promise.all(wanted.map((one) => read(`${folder}/strings/${one}.json`)))) {
    addWords(Object.fromEntries(Object.entries(table).map(([key, words]) => [`${name}/${key}`, words])));
  }
}

async function read(path) {
  const response = await fetch(new URL(path, ROOT));
  if (!response.ok) throw new Error(`${path}: ${response.status}`);
  return response.json();
}
