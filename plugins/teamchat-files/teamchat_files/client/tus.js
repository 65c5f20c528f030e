// One upload by tus 1.0: it begins, goes on where the server says that it is, and ends. Whatever was cut off between is
// found out by asking.

const TUS = { "Tus-Resumable": "1.0.0" };
const BYTES = { ...TUS, "Content-Type": "application/offset+octet-stream" };

/**
 * Begin an upload; a small file goes along at once.
 * @returns {Promise<{fileId: string, offset: number}>}
 */
export async function begin({ api, limits }, { id, file, place, name, type }, { signal, onProgress }) {
  const about = { placeId: place.id, filename: name, filetype: type };
  const metadata = Object.entries(about).map(([key, value]) => (value ? `${key} ${base64(value)}` : key));
  const body = file.size > 0 && file.size <= limits.chunkBytes ? file.slice(0, file.size, "") : null;
  const headers = {
    ...(body ? BYTES : TUS),
    "Upload-Length": String(file.size),
    "Upload-Metadata": metadata.join(","),
    "Idempotency-Key": id,
  };
  const answer = await api.send("POST", "/uploads", { body, headers, signal, onProgress });
  const fileId = answer.header("Location").split("/").pop();
  return { fileId, offset: offsetOf(answer) };
}

/** How many bytes of an upload have arrived. */
export async function offset({ api }, fileId, { signal }) {
  return offsetOf(await api.send("HEAD", api.path`/uploads/${fileId}`, { headers: TUS, signal }));
}

/** Send the next piece; returns how many bytes have arrived then. */
export async function go({ api, limits }, { file, fileId, offset: at }, { signal, onProgress }) {
  const body = file.slice(at, at + limits.chunkBytes, "");
  const headers = { ...BYTES, "Upload-Offset": String(at) };
  return offsetOf(await api.send("PATCH", api.path`/uploads/${fileId}`, { body, headers, signal, onProgress }));
}

/** End an upload, and forget what has arrived. */
export async function end({ api }, fileId) {
  await api.send("DELETE", api.path`/uploads/${fileId}`, { headers: TUS });
}

function offsetOf(answer) {
  return Number(answer.header("Upload-Offset"));
}

function base64(text) {
  return btoa(String.fromCharCode(...new TextEncoder().encode(text)));
}
