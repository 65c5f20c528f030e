// Bytes to the server, for what is too large to be JSON, or none: with how much has been sent, and an end of
// waiting where nothing moves.

import { ApiError, Unreachable } from "./http.js";

const PATIENCE_FOR_BYTES_MS = 5 * 60_000;
const PATIENCE_MS = 60_000; // of silence, both while bytes go out and after the last

/**
 * Send a request as the user.
 * @param {import("./api.js").Api} api
 * @param {string} method
 * @param {string} address
 * @param {{body?: Blob, headers?: object, signal?: AbortSignal, onProgress?: function}} [options]
 * @returns {Promise<{status: number, header: function(string): ?string, text: string}>} what is no refusal
 */
export function sendBytes(api, method, address, options = {}) {
  return api.withToken((token) => once(api.http.url(address), method, token, options));
}

/** The bytes at an address. */
export function blobAt(api, address) {
  return api.withToken((token) => api.http.blob(address, { patience: PATIENCE_FOR_BYTES_MS, token }));
}

function once(url, method, token, { body = null, headers = {}, signal, onProgress }) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    let timer;
    const moved = () => {
      clearTimeout(timer);
      timer = setTimeout(() => request.abort(), PATIENCE_MS);
    };
    const stop = () => request.abort();
    request.open(method, url);
    request.setRequestHeader("Authorization", `Bearer ${token}`);
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    if (body) request.upload.addEventListener("progress", ({ loaded }) => (moved(), onProgress?.(loaded)));
    request.addEventListener("load", () => {
      const { status, responseText: text } = request;
      const header = (name) => request.getResponseHeader(name);
      if (status >= 200 && status < 300) resolve({ status, text, header });
      else reject(refusal(request));
    });
    request.addEventListener("error", () => reject(new Unreachable()));
    request.addEventListener("abort", () => reject(signal?.aborted ? signal.reason : new Unreachable()));
    request.addEventListener("loadend", () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", stop);
    });
    if (signal?.aborted) return reject(signal.reason);
    signal?.addEventListener("abort", stop);
    moved();
    return request.send(body);
  });
}

function refusal(request) {
  let sentence = request.statusText || String(request.status);
  try {
    sentence = JSON.parse(request.responseText).error ?? sentence;
  } catch {
    // HEAD has no body, and something in between may answer in words of its own.
  }
  const seconds = Number.parseInt(request.getResponseHeader("Retry-After"), 10);
  return new ApiError(request.status, sentence, Number.isNaN(seconds) ? null : seconds);
}
