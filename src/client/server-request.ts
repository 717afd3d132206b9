/**
 * Requests to a server of an archive. A request that fails for a passing reason is made again, after a growing time or
 * the one that the server asks for. So every request must be one that may be made twice.
 */

export type ServerRequestOptions = {
  /** A token of the server, or one of `pinakes token add`. */
  readonly token?: string;
  readonly signal?: AbortSignal;
  /** How often a request is tried. */
  readonly attemptsMax?: number;
  /** The first pause between two tries. Each later one is twice as long, up to ten seconds. */
  readonly waitMs?: number;
  /** Replaces the fetch of the platform. */
  readonly fetch?: typeof fetch;
};

export type RequestParts = {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly fields?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
};

const ATTEMPTS_MAX = 8;
export const WAIT_MS = 250;
export const WAIT_MS_MAX = 10_000;
/** Statuses that pass: too slow, too many requests, a proxy without its server, a server that stops. */
export const PASSING: ReadonlySet<number> = new Set([408, 429, 502, 503, 504]);

/** Why a certificate is not trusted. Asking again does not change it. */
const DISTRUSTED =
  /^(?:CERT_|ERR_TLS_CERT_|DEPTH_ZERO_SELF_SIGNED_CERT$|SELF_SIGNED_CERT_IN_CHAIN$|UNABLE_TO_(?:GET_ISSUER|VERIFY_LEAF))/;

/** What a server says of a request that it refuses. */
export type RefusalFacts = {
  readonly code: string;
  readonly message: string;
  readonly advice: string;
  /** How long the server asks to wait before another try. */
  readonly retryAfterMs: number;
};

/** The server refuses a request. */
export class RequestRefusedError extends Error {
  override readonly name: string = 'RequestRefusedError';
  readonly status: number;
  readonly code: string;
  readonly advice: string;
  /** How long the server asks to wait before another try. */
  readonly retryAfterMs: number;

  constructor(status: number, { code, message, advice, retryAfterMs }: RefusalFacts) {
    super(message);
    this.status = status;
    this.code = code;
    this.advice = advice;
    this.retryAfterMs = retryAfterMs;
  }
}

/** The server did not answer. What was sent may have been done or not: the same request may be made again. */
export class ServerUnreachableError extends Error {
  override readonly name = 'ServerUnreachableError';

  constructor(cause: unknown) {
    super(`the server did not answer: ${reasonOf(cause)}`, { cause });
  }
}

export class ServerRequests {
  readonly #origin: string;
  readonly #options: ServerRequestOptions;

  constructor(origin: string, options: ServerRequestOptions) {
    this.#origin = origin;
    this.#options = options;
  }

  /** The reply of the server as JSON. */
  async json<T>(parts: RequestParts): Promise<T> {
    return this.#repeated(parts, async (response) => (await response.json()) as T);
  }

  /** The reply with its body still to be read. Undefined: there is nothing at the address. */
  async open(parts: RequestParts): Promise<Response | undefined> {
    try {
      return await this.#repeated(parts, async (response) => response);
    } catch (error) {
      if (error instanceof RequestRefusedError && error.status === 404) return undefined;
      throw error;
    }
  }

  async #repeated<T>(parts: RequestParts, read: (response: Response) => Promise<T>): Promise<T> {
    const { attemptsMax = ATTEMPTS_MAX, waitMs = WAIT_MS, signal } = this.#options;
    for (let attempt = 1; ; attempt++) {
      let pauseMs = Math.min(WAIT_MS_MAX, waitMs * 2 ** (attempt - 1));
      try {
        const response = await this.#send(parts);
        if (response.ok) return await read(response);
        const error = new RequestRefusedError(response.status, await refusalFacts(response));
        if (!PASSING.has(response.status) || attempt >= attemptsMax) throw error;
        pauseMs = Math.min(WAIT_MS_MAX, Math.max(pauseMs, error.retryAfterMs));
      } catch (error) {
        signal?.throwIfAborted();
        if (error instanceof RequestRefusedError) throw error;
        if (attempt >= attemptsMax || isDistrusted(error)) throw new ServerUnreachableError(error);
      }
      await pause(pauseMs, signal);
    }
  }

  #send({ method, path, query = {}, fields = {}, body }: RequestParts): Promise<Response> {
    const { token, signal, fetch: fetchReply = fetch } = this.#options;
    const address = new URL(path, this.#origin);
    for (const [name, value] of Object.entries(query))
      if (value !== undefined) address.searchParams.set(name, String(value));
    return fetchReply(address, {
      method,
      headers: { ...(token !== undefined && { authorization: `Bearer ${token}` }), ...fields },
      ...(body && { body: body as Uint8Array<ArrayBuffer> }),
      ...(signal && { signal }),
      // A redirection would send the token to another place.
      redirect: 'error',
    });
  }
}

export async function refusalFacts(response: Response): Promise<RefusalFacts> {
  const seconds = Number(response.headers.get('retry-after') ?? 0);
  const unknown: RefusalFacts = {
    code: 'UNKNOWN',
    message: `the server answered with status ${response.status}`,
    advice: '',
    // A date instead of seconds is not respected.
    retryAfterMs: seconds > 0 ? seconds * 1000 : 0,
  };
  const { error } = (await response.json().catch(() => ({}))) as { error?: Partial<RefusalFacts> };
  return { ...unknown, ...error };
}

function isDistrusted(error: unknown): boolean {
  const { cause } = error as { cause?: { code?: unknown } };
  return typeof cause?.code === 'string' && DISTRUSTED.test(cause.code);
}

function reasonOf(error: unknown): string {
  const { message, cause } = error as { message?: string; cause?: { message?: string; code?: string } };
  return cause?.message || cause?.code || message || String(error);
}

export function pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer);
      reject(signal!.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, milliseconds);
    signal?.addEventListener('abort', abort, { once: true });
    if (signal?.aborted) abort();
  });
}
