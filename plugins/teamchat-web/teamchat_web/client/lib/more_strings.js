// The words of what is seldom seen: sign-in, settings, administration and the like. Whatever needs them
// imports this module, and is loaded with `part`: `t` knows them before it is used, and the first view goes
// without. The icons come along.

import "./more_icons.js";
import { needs } from "./parts.js";
import { addWords, language } from "./strings.js";

let loading = null;

needs(() => (loading ??= load()));

async function load() {
  try {
    addWords((await import(`../strings/more/${language()}.js`)).default);
  } catch (error) {
    loading = null;
    throw error;
  }
}
