// The words of what is seldom seen: sign-in, settings, administration and the like. Whatever needs them
// imports this module; `t` knows them before the importing module runs, and the first view goes without. The
// icons come along.

import "./more_icons.js";
import { addWords, language } from "./strings.js";

const { default: table } = await import(`../strings/more/${language()}.js`);
addWords(table);
