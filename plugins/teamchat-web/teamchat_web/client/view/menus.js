// The style of menus: whoever imports this runs once it is in effect, for a menu is measured when it opens.
import { sheet } from "./sheet.js";

await sheet("menus");
