// The icons of what is seldom seen, as paths of 24 by 24; whoever needs one imports this module. Those of the
// first view stand in the page.

import { SVG } from "./dom.js";

const PATHS = {
  warning: "M12 4 3 19.5h18zM12 10v4.5M12 17v.2",
  clock: "M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16zM12 8v4.5l3 2",
  more: "M6 11.2a.8.8 0 1 0 0 1.6.8.8 0 0 0 0-1.6zM12 11.2a.8.8 0 1 0 0 1.6.8.8 0 0 0 0-1.6zM18 11.2a.8.8 0 1 0 0 1.6.8.8 0 0 0 0-1.6z",
  unread: "M4 6h10M4 6v12h16v-8M4 7l8 6 2-1.5M19 3a2 2 0 1 0 0 4 2 2 0 0 0 0-4z",
  up: "M12 19V5M6 11l6-6 6 6",
  about: "M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17zM12 11.5v5M12 7.8h0",
  shield: "M12 3.5 5 6v5.5c0 4.2 2.9 7.6 7 9 4.1-1.4 7-4.8 7-9V6zM9 12l2.2 2.2 4-4.2",
  keyboard: "M4 6.5h16a1 1 0 0 1 1 1v9a1 1 0 0 1-1 1H4a1 1 0 0 1-1-1v-9a1 1 0 0 1 1-1zM7 10.5h0M10.5 10.5h0M14 10.5h0M17 10.5h0M8.5 14h7",
  link: "M10 14a4 4 0 0 0 5.7 0l3-3A4 4 0 0 0 13 5.3l-1 1M14 10a4 4 0 0 0-5.7 0l-3 3A4 4 0 0 0 11 18.7l1-1",
  copy: "M10 8.5h8a1 1 0 0 1 1 1v9a1 1 0 0 1-1 1h-8a1 1 0 0 1-1-1v-9a1 1 0 0 1 1-1zM6 15.5a1 1 0 0 1-1-1v-9a1 1 0 0 1 1-1h8a1 1 0 0 1 1 1",
  left: "M15 5l-7 7 7 7",
  right: "M9 5l7 7-7 7",
  edit: "M4 20l1-4L16 5l3 3L8 19zM14 7l3 3",
  trash: "M5 7h14M10 7V4.5h4V7M7 7l.7 12.5h8.6L17 7M10.5 11v5M13.5 11v5",
  download: "M12 4v11M7 11l5 5 5-5M5 20h14",
  zoom: "M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM16 16l4.5 4.5M8.5 11h5M11 8.5v5",
  sliders: "M4 8h9M17 8h3M4 16h3M11 16h9M15 6a2 2 0 1 0 0 4 2 2 0 0 0 0-4zM9 14a2 2 0 1 0 0 4 2 2 0 0 0 0-4z",
  bell: "M6 16.5c1-1.5 1-3 1-6a5 5 0 0 1 10 0c0 3 0 4.5 1 6zM10 19.5a2.2 2.2 0 0 0 4 0",
  device: "M5 5h14a1 1 0 0 1 1 1v9a1 1 0 0 1-1 1H5a1 1 0 0 1-1-1V6a1 1 0 0 1 1-1zM9 20h6M12 16v4",
  key: "M8 11.5a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM11 12.5 19.5 4M16 7.5l2.5 2.5",
  plug: "M9 3v5M15 3v5M6 8h12v3a6 6 0 0 1-12 0zM12 17v4",
  "sign-out": "M14 4H6a1 1 0 0 0-1 1v14a1 1 0 0 0 1 1h8M10 12h10M16.5 8.5 20 12l-3.5 3.5",
  user: "M12 4a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM4.5 20a7.5 7.5 0 0 1 15 0",
  teamchat: "M5 4h14a2 2 0 0 1 2 2v8.5a2 2 0 0 1-2 2h-6L8 20.5v-4H5a2 2 0 0 1-2-2V6a2 2 0 0 1 2-2zM8 10.2h0M12 10.2h0M16 10.2h0",
};

for (const [name, path] of Object.entries(PATHS)) addIcon(name, path);

/** Make an icon known, by the path that draws it on 24 by 24. */
export function addIcon(name, path) {
  const symbol = document.createElementNS(SVG, "symbol");
  const line = document.createElementNS(SVG, "path");
  symbol.id = `icon-${name}`;
  symbol.setAttribute("viewBox", "0 0 24 24");
  line.setAttribute("d", path);
  symbol.append(line);
  document.querySelector("svg").append(symbol);
}
