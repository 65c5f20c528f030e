// Parts of the page that are loaded when they are wanted. Besides modules a part needs words and style
// sheets: the module that does says so with `needs`, and whoever loads the part waits for them with `part`.
// No module awaits anything while it runs, for WebKit never runs one that imports another which still waits.

const needed = new Set();

/** Have `load` done before the running module is used; it is called anew for as long as it fails. */
export function needs(load) {
  needed.add(load);
  load().catch(() => {}); // Whoever waits for the part is told.
}

/**
 * Wait for a part and for what it needs.
 * @param {Promise<object>} importing what `import` returns
 * @returns {Promise<object>} the module
 */
export async function part(importing) {
  const module = await importing;
  await Promise.all([...needed].map((load) => load()));
  return module;
}
