/**
 * What a client is told when a request cannot be served: a status, a stable code, a sentence and advice; as JSON or as a small page, by what it
 * accepts. Faults of ours are told without particulars, which go to the operator only.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type ErrorCode, PinakesError } from '../base/index.ts';
import { endReply } from './reply-end.ts';

export type Problem = {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly advice: string;
  readonly where?: string | undefined;
  /** The place in what was sent: offset and length in characters. */
  readonly at?: number;
  readonly length?: number;
  /** Further fields of the reply, such as `allow`. */
  readonly fields?: Readonly<Record<string, string>>;
};

/** Thrown inside of handlers; never leaves the server. */
export class HttpProblem extends Error {
  override readonly name = 'HttpProblem';
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.message);
    this.problem = problem;
  }
}

export function badRequest(message: string, advice: string, where?: string): HttpProblem {
  return new HttpProblem({ status: 400, code: 'BAD_REQUEST', message, advice, where });
}

export function methodRefused(allow: string): HttpProblem {
  return new HttpProblem({
    status: 405,
    code: 'METHOD_REFUSED',
    message: 'this address does not take that method',
    advice: `It takes ${allow}.`,
    fields: { allow },
  });
}

export function rangeOutside(bytes: number): HttpProblem {
  return new HttpProblem({
    status: 416,
    code: 'RANGE_OUTSIDE',
    message: `there are ${bytes} bytes, and the range begins behind them`,
    advice: 'Ask for a range that begins earlier.',
    fields: { 'content-range': `bytes */${bytes}` },
  });
}

export const NOT_FOUND: Problem = {
  status: 404,
  code: 'NOT_FOUND',
  message: 'there is nothing at this address',
  advice: 'The web page is at /, the captures of a URL at /web/*/URL, the API is described at /api/openapi.json.',
};

/** A browser wants a screen, and this server was started without the files of the web page. */
export const SCREENS_MISSING: Problem = {
  status: 503,
  code: 'SCREENS_MISSING',
  message: 'the web page is not built',
  advice:
    'In a checkout, `npm run ui` builds it; then start the server again. The API, CDX, Memento and what programs fetch from the archive are there without.',
};

const INTERNAL: Problem = {
  status: 500,
  code: 'INTERNAL',
  message: 'something went wrong in Pinakes that should not have',
  advice: 'Look at what the server printed, and report it.',
};

const STATUS_BY_CODE: Partial<Record<ErrorCode, number>> = {
  ARCHIVE_BUSY: 409,
  BAD_ARGUMENT: 400,
  BAD_QUERY: 400,
  CONTENT_KEY_INVALID: 400,
  CONTENT_MISSING: 404,
  CURSOR_EXPIRED: 410,
  DISK_FULL: 507,
  NOT_WARC: 422,
  NO_RECORD: 404,
  RECORD_DAMAGED: 502,
  SNAPSHOT_MISSING: 404,
};

/** The problem that an error is to a client. `isFault` tells whether the operator should hear of it. */
export function problemOf(error: unknown): { problem: Problem; isFault: boolean } {
  if (error instanceof HttpProblem) return { problem: error.problem, isFault: false };
  if (error instanceof PinakesError) {
    const status = STATUS_BY_CODE[error.code] ?? (error.retryable ? 503 : 500);
    const { code, message, advice, where } = error;
    return { problem: { status, code, message, advice, where }, isFault: status >= 500 };
  }
  const { statusCode, message } = (error ?? {}) as { statusCode?: unknown; message?: unknown };
  // What Fastify refuses: bodies that are too large or no JSON, values that do not fit a schema.
  if (typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500) {
    const code = statusCode === 413 ? 'BODY_TOO_LARGE' : statusCode === 415 ? 'MEDIA_TYPE_REFUSED' : 'BAD_REQUEST';
    const advice = 'The API is described at /api/openapi.json.';
    return { problem: { status: statusCode, code, message: String(message), advice }, isFault: false };
  }
  return { problem: INTERNAL, isFault: true };
}

export function problemJson({ code, message, advice, where, at, length }: Problem): string {
  return JSON.stringify({ error: { code, message, advice, where, at, length } });
}

/** Fields that every page of our own making has: it loads nothing, and nothing may frame it but where it is told. */
export const PLAIN_PAGE_FIELDS: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

export function sendProblem(request: IncomingMessage, response: ServerResponse, problem: Problem): void {
  if (response.headersSent) {
    // The reply is half out: only a broken connection tells the client that the rest is missing.
    response.destroy();
    return;
  }
  const asHtml = accepts(request.headers.accept, 'text/html') && !accepts(request.headers.accept, 'application/json');
  const body = Buffer.from(asHtml ? problemPage(problem) : `${problemJson(problem)}\n`);
  response.writeHead(problem.status, {
    ...PLAIN_PAGE_FIELDS,
    ...problem.fields,
    'content-type': asHtml ? 'text/html; charset=utf-8' : 'application/json; charset=utf-8',
    'content-length': body.length,
  });
  endReply(response, body);
}

/** Whether a client names a media type among those it accepts. */
export function accepts(accept: string | undefined, mime: string): boolean {
  return accept?.toLowerCase().includes(mime) === true;
}

export function escapeHtml(text: string): string {
  const named: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
  return text.replace(/[&<>"']/g, (character) => named[character]!);
}

const STYLE =
  'html{color-scheme:light dark}body{font:17px/1.5 system-ui,sans-serif;max-width:40rem;margin:4rem auto;padding:0 1.25rem;color:#222;background:#fbfaf7}' +
  'h1{font:600 1.6rem/1.3 Georgia,serif}code,.where{overflow-wrap:anywhere}.code{color:#777;font-size:.85rem}a{color:#7a3b10}' +
  'form{margin:2rem 0 1rem}input,button{font:inherit;padding:.3rem .6rem;max-width:100%}' +
  '@media(prefers-color-scheme:dark){body{color:#e6e2da;background:#1b1a18}a{color:#e0a878}}';

/** A page without script or anything loaded. `more` is HTML of our own making. */
export function plainPage(title: string, content: string): string {
  return (
    '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">' +
    `<title>${escapeHtml(title)}</title><style>${STYLE}</style></head>\n<body><main><h1>${escapeHtml(title)}</h1>\n${content}\n</main></body></html>\n`
  );
}

function problemPage({ status, code, message, advice, where }: Problem): string {
  const place = where === undefined ? '' : `<p class="where"><code>${escapeHtml(where)}</code></p>`;
  return plainPage(
    `${message.slice(0, 1).toUpperCase()}${message.slice(1)}`,
    `${place}<p>${escapeHtml(advice)}</p><p class="code">${status} ${escapeHtml(code)}</p>`,
  );
}
