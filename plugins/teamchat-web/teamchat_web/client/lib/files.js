// Files that must survive a reload, in IndexedDB, by the id of what they belong to. Where there is no
// IndexedDB they live as long as the page.

const memory = new Map();
let opening;

/** Keep files under an id. */
export async function keepFiles(id, files) {
  memory.set(id, files);
  await transact("readwrite", (store) => store.put(files, id));
}

/** The files kept under an id; none if there are none. */
export async function keptFiles(id) {
  return memory.get(id) ?? (await transact("readonly", (store) => store.get(id))) ?? [];
}

/** Forget the files kept under an id, or with no id all files. */
export async function dropFiles(id) {
  if (id === undefined) memory.clear();
  else memory.delete(id);
  await transact("readwrite", (store) => (id === undefined ? store.clear() : store.delete(id)));
}

async function transact(mode, act) {
  try {
    opening ??= open();
    const store = (await opening).transaction("files", mode).objectStore("files");
    return await answer(act(store));
  } catch {
    return undefined;
  }
}

function open() {
  const request = indexedDB.open("teamchat", 1);
  request.onupgradeneeded = () => request.result.createObjectStore("files");
  return answer(request);
}

function answer(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}
