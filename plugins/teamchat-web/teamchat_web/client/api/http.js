// Requests to the server, and the two ways they fail: it answered with an error, or it did not answer.
// Addresses are relative to where the server is, which may be a path below a host.

const PATIENCE_MS = 30_000;

/** The server refused: `status`, its sentence as `message`, `retryAfter` in seconds or null, `challenge`. */
export class ApiError extends Error {
  constructor(status, message, retryAfter = null) {
    super(message);
    this.name = "ApiError";
    this.status = status;
    this.retryAfter = retryAfter;
  }

  /** Whether the same request may do better later. */
  get isPassing() {
    return this.status >= 500 || this.status === 429 || this.status === 408;
  }
}

/** There was no answer: no network, no server, or it took too long. */
export class Unreachable extends Error {
  constructor(cause) {
    super("The server could not be reached.", { cause });
    this.name = "Unreachable";
  }
}

export class Http {
  #base;

  /** @param {string} [baseUrl] where the server is; empty means where the page is */
  constructor(baseUrl) {
    const base = new URL(baseUrl || ".", document.baseURI);
    base.search = base.hash = "";
    if (!base.pathname.endsWith("/")) base.pathname += "/";
    this.#base = base;
  }

  /** The whole address of a path such as "/channels". */
  url(path) {
    return new URL(path.replace(/^\//, ""), this.#base).href;
  }

  /**
   * Send a request and return what the answer holds: parsed JSON, or else text.
   * @param {string} method
   * @param {string} path
   * @param {{body?: object, token?: string, headers?: object, signal?: AbortSignal, patience?: number,
   *   keepalive?: boolean}} [options] `patience` in milliseconds
   */
  async send(method, path, options = {}) {
    const response = await this.#fetch(method, path, options);
    const text = await reached(response.text());
    return isJson(response) ? JSON.parse(text) : text;
  }

  /** Get bytes, such as an image. */
  async blob(path, options = {}) {
    return reached((await this.#fetch("GET", path, options)).blob());
  }

  async #fetch(method, path, { body, token, headers, signal, keepalive, patience = PATIENCE_MS }) {
    const signals = [AbortSignal.timeout(patience), ...(signal ? [signal] : [])];
    const request = {
      method,
      keepalive,
      headers: { ...headers },
      credentials: "omit",
      signal: AbortSignal.any(signals),
    };
    if (token) request.headers.Authorization = `Bearer ${token}`;
    if (body !== undefined) {
      request.headers["Content-Type"] = "application/json";
      request.body = JSON.stringify(body);
    }
    const response = await reached(fetch(this.url(path), request), signal);
    if (!response.ok) throw await refusal(response);
    return response;
  }
}

/**
 * The error that a response stands for.
 * @param {Response} response
 * @returns {Promise<ApiError>}
 */
export async function refusal(response) {
  let sentence = response.statusText || `${response.status}`;
  try {
    sentence = (await response.json()).error ?? sentence;
  } catch {
    // Something in between answered, in words of its own.
  }
  const seconds = Number.parseInt(response.headers.get("Retry-After"), 10);
  return Object.assign(new ApiError(response.status, sentence, Number.isNaN(seconds) ? null : seconds), {
    challenge: response.headers.get("WWW-Authenticate"),
  });
}

async function reached(promise, signal) {
  try {
    return await promise;
  } catch (error) {
    if (signal?.aborted) throw signal.reason;
    throw new Unreachable(error);
  }
}

function isJson(response) {
  return (response.headers.get("Content-Type") ?? "").startsWith("application/json");
}
