// The style of menus, which are measured when they open.
import { needsSheets } from "./sheet.js";

needsSheets("menus");
