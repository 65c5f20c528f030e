// A file made fit for the server: of a type it takes, not too large, and with a thumbnail where that spares
// others something. Everything is made in the browser; the file's own name stays here.

import "../lib/more_strings.js";
import { locale, t } from "../lib/strings.js";

const MOST_BYTES = 10 * 1024 * 1024;
const THUMB_SIDE = 640;
const THUMB_FROM_BYTES = 60 * 1024;
const LARGEST_SIDE = 4096;
const UNITS = ["byte", "kilobyte", "megabyte", "gigabyte"];
const EXTENSIONS = {
  "image/jpeg": "jpg",
  "image/png": "png",
  "image/webp": "webp",
  "image/svg+xml": "svg",
};

/** A file that can't be sent, and won't be whenever it is tried. */
export class PictureRefused extends Error {
  isFinal = true;
}

/**
 * Make a file ready for `api.upload`. A photo that is too large is made smaller.
 * @param {File|Blob} file
 * @returns {Promise<{filename: string, image: string, thumbnail?: string}>} bytes in base64
 */
export async function prepare(file) {
  if (!EXTENSIONS[file.type]) throw new PictureRefused(t("pictures.type"));
  const bitmap = file.type === "image/svg+xml" ? null : await decoded(file);
  try {
    const image = file.size > MOST_BYTES ? await reduced(bitmap) : file;
    const thumb = bitmap && (await thumbnail(bitmap, image));
    return {
      filename: `image.${EXTENSIONS[image.type]}`,
      image: await base64(image),
      ...(thumb && { thumbnail: await base64(thumb) }),
    };
  } finally {
    bitmap?.close();
  }
}

async function decoded(file) {
  try {
    return await createImageBitmap(file);
  } catch {
    throw new PictureRefused(t("pictures.broken"));
  }
}

/** The picture in fewer bytes than the server takes, or a refusal. */
async function reduced(bitmap) {
  for (const [side, quality] of bitmap ? [[LARGEST_SIDE, 0.85], [LARGEST_SIDE / 2, 0.8]] : []) {
    const smaller = await drawn(bitmap, side, quality);
    if (smaller.size <= MOST_BYTES) return smaller;
  }
  throw new PictureRefused(t("pictures.large", { size: size(MOST_BYTES) }));
}

/** A thumbnail, where the picture is large and the thumbnail is not. */
async function thumbnail(bitmap, image) {
  if (Math.max(bitmap.width, bitmap.height) <= THUMB_SIDE || image.size < THUMB_FROM_BYTES) return null;
  const thumb = await drawn(bitmap, THUMB_SIDE, 0.8);
  return thumb.size < image.size ? thumb : null;
}

async function drawn(bitmap, side, quality) {
  const scale = Math.min(1, side / Math.max(bitmap.width, bitmap.height));
  const canvas = new OffscreenCanvas(Math.ceil(bitmap.width * scale), Math.ceil(bitmap.height * scale));
  canvas.getContext("2d").drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  const made = await canvas.convertToBlob({ type: "image/webp", quality });
  return made.type === "image/webp" ? made : canvas.convertToBlob({ type: "image/jpeg", quality });
}

export function base64(blob) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result.slice(reader.result.indexOf(",") + 1));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(blob);
  });
}

/** A number of bytes, in the unit that fits. */
function size(bytes) {
  const step = Math.min(UNITS.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
  const style = { style: "unit", unit: UNITS[step], unitDisplay: "short", maximumFractionDigits: 1 };
  return new Intl.NumberFormat(locale, style).format(bytes / 1024 ** step);
}
