// Names for what is made here. They sort by the time they were made in, and no two are alike.

let count = 0;

/** A new id: the time, a running number, and sixteen random bytes. */
export function newId() {
  const time = Date.now().toString(36).padStart(9, "0");
  const running = (count++ % 46_656).toString(36).padStart(3, "0");
  const random = crypto.getRandomValues(new Uint8Array(16));
  return `${time}${running}-${Array.from(random, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
