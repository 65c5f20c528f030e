// The style of dialogs and of pages that stand alone: whoever imports this runs once it is in effect.
import { sheet } from "./sheet.js";

await Promise.all([sheet("layers"), sheet("forms"), sheet("account")]);
