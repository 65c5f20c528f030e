// The style of dialogs and of pages that stand alone.
import { needsSheets } from "./sheet.js";

needsSheets("layers", "forms", "account", "notices");
