/**
 * Error replies: a status, a stable code, a sentence and advice, as JSON or as a small page, whichever the client
 * accepts. Errors of the server itself are sent without details. The operator gets the details.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { ERROR_CATALOGUE, type ErrorCode, PinakesError } from '../../base/index.ts';
import { frameReport } from './frame-report.ts';
import { endReply } from './reply-end.ts';

export type ProblemDetails = {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly advice: string;
  readonly where?: string | undefined;
  /** The position of an error in a query: offset and length in UTF-16 code units. */
  readonly at?: number;
  readonly length?: number;
  /** More header fields of the reply, such as `allow`. */
  readonly fields?: Readonly<Record<string, string>>;
};

/** Thrown by handlers, and turned into a reply. */
export class HttpProblem extends Error {
  override readonly name = 'HttpProblem';
  readonly problem: ProblemDetails;

  constructor(problem: ProblemDetails) {
    super(problem.message);
    this.problem = problem;
  }
}

export function badRequest(message: string, advice: string, where?: string): HttpProblem {
  return new HttpProblem({ status: 400, code: 'BAD_REQUEST', message, advice, where });
}

/** The error for an `after` that is not the `next` of an earlier page. */
export function invalidCursor(): HttpProblem {
  return badRequest('the cursor is not valid', 'Send the `next` of the page before.', 'query/after');
}

export function methodRefused(allow: string): HttpProblem {
  return new HttpProblem({
    status: 405,
    code: 'METHOD_REFUSED',
    message: 'this address does not allow the method',
    advice: `Use ${allow}.`,
    fields: { allow },
  });
}

export function requireReading({ method }: IncomingMessage): void {
  if (method !== 'GET' && method !== 'HEAD') throw methodRefused('GET, HEAD');
}

export function rangeOutside(bytes: number): HttpProblem {
  return new HttpProblem({
    status: 416,
    code: 'RANGE_OUTSIDE',
    message: `the range begins after the last of ${bytes} bytes`,
    advice: 'Request a range that begins earlier.',
    fields: { 'content-range': `bytes */${bytes}` },
  });
}

export const NOT_FOUND: ProblemDetails = {
  status: 404,
  code: 'NOT_FOUND',
  message: 'there is nothing at this address',
  advice: 'The web page is at /, the captures of a URL are at /web/*/URL, and /api/openapi.json describes the API.',
};

/** The error for a browser that requests a screen of a server without the files of the web interface. */
export const SCREENS_MISSING: ProblemDetails = {
  status: 503,
  code: 'SCREENS_MISSING',
  message: 'the web page is not built',
  advice:
    'In a checkout, build it with `npm run ui`, then restart the server. The API, CDX, Memento and replay for programs work without it.',
};

export const SERVER_STOPPING: ProblemDetails = {
  status: 503,
  code: 'SERVER_STOPPING',
  message: 'the server is stopping',
  advice: 'Repeat the request in a few seconds, at another server of the archive or when this one runs again.',
  fields: { 'retry-after': '5' },
};

const INTERNAL: ProblemDetails = {
  status: 500,
  code: 'INTERNAL',
  message: 'an unexpected error in Pinakes',
  advice: 'See the output of the server, and report the error.',
};

const STATUS_BY_CODE: Partial<Record<ErrorCode, number>> = {
  ARCHIVE_BUSY: 409,
  ARCHIVE_FULL: 507,
  BAD_ARGUMENT: 400,
  BAD_QUERY: 400,
  CONTENT_BARRED: 451,
  CONTENT_HAS_URLS: 409,
  CONTENT_KEY_INVALID: 400,
  CONTENT_MISSING: 404,
  CURSOR_EXPIRED: 410,
  DISK_FULL: 507,
  NOT_WACZ: 422,
  NOT_WARC: 422,
  NO_RECORD: 404,
  RECORD_DAMAGED: 502,
  SNAPSHOT_MISSING: 404,
  TAKEDOWN_MISSING: 404,
  VOLUME_UNKNOWN: 404,
};

/** The error reply for an error. `isFault`: whether to report the error to the operator. */
export function problemFromError(error: unknown): { problem: ProblemDetails; isFault: boolean } {
  if (error instanceof HttpProblem) return { problem: error.problem, isFault: false };
  if (error instanceof PinakesError) {
    const { code, message, advice, where } = error;
    const status = STATUS_BY_CODE[code] ?? (error.retryable ? 503 : 500);
    if (status < 500 || code === 'RECORD_DAMAGED')
      return { problem: { status, code, message, advice, where }, isFault: status >= 500 };
    // Clients must not see paths on the machine of the server.
    const { says } = ERROR_CATALOGUE[code];
    return {
      problem: { status, code, message: says, advice: status === 500 ? INTERNAL.advice : advice },
      isFault: true,
    };
  }
  const { statusCode, message } = (error ?? {}) as { statusCode?: unknown; message?: unknown };
  // Fastify refuses bodies that are too large or not JSON, and values that do not match a schema.
  if (typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500) {
    const code = statusCode === 413 ? 'BODY_TOO_LARGE' : statusCode === 415 ? 'MEDIA_TYPE_REFUSED' : 'BAD_REQUEST';
    const advice = 'The API is described at /api/openapi.json.';
    return { problem: { status: statusCode, code, message: String(message), advice }, isFault: false };
  }
  return { problem: INTERNAL, isFault: true };
}

export function problemJson({ code, message, advice, where, at, length }: ProblemDetails): string {
  return JSON.stringify({ error: { code, message, advice, where, at, length } });
}

/** Header fields of every page that the server generates. */
export const PLAIN_PAGE_FIELDS: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

/** A generated page loads nothing. Its search box can send to the web interface only. */
export function pagePolicy(home: string | undefined): string {
  return `default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action ${home ?? "'none'"}`;
}

/**
 * Whether a browser requests a page for its window. Over plain HTTP, browsers send Sec-Fetch-Dest to localhost only. To
 * other hosts they still send Upgrade-Insecure-Requests.
 */
export function isForWindow({ headers }: IncomingMessage): boolean {
  const destination = headers['sec-fetch-dest'];
  return destination === undefined ? headers['upgrade-insecure-requests'] === '1' : destination === 'document';
}

/**
 * Whether a page is requested for a frame. A page in a frame has no links, because the web interface around the frame
 * has them.
 */
export function isFramed(request: IncomingMessage): boolean {
  return /^i?frame$/.test(String(request.headers['sec-fetch-dest'] ?? ''));
}

/** `home` is the origin of the web interface, to which the error page links. Without `home` there are no links. */
export function sendProblem(
  request: IncomingMessage,
  response: ServerResponse,
  problem: ProblemDetails,
  home?: string,
): void {
  if (response.headersSent) {
    // A part of the reply is sent. Only a broken connection shows the client that the rest is missing.
    response.destroy();
    return;
  }
  const asHtml = accepts(request.headers.accept, 'text/html') && !accepts(request.headers.accept, 'application/json');
  const onward = isFramed(request) ? undefined : home;
  const title = titleOf(problem);
  const report = frameReport(request, title, home);
  const body = Buffer.from(
    asHtml ? plainPage(title, problemContent(problem, onward) + report.element) : `${problemJson(problem)}\n`,
  );
  response.writeHead(problem.status, {
    ...PLAIN_PAGE_FIELDS,
    'content-security-policy': pagePolicy(onward) + report.policy,
    ...problem.fields,
    'content-type': asHtml ? 'text/html; charset=utf-8' : 'application/json; charset=utf-8',
    'content-length': body.length,
  });
  endReply(response, body);
}

/** Whether the Accept field contains a media type. */
export function accepts(accept: string | undefined, mime: string): boolean {
  return accept?.toLowerCase().includes(mime) === true;
}

export function escapeHtml(text: string): string {
  const named: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
  return text.replace(/[&<>"']/g, (character) => named[character]!);
}

/** The style of generated pages, in the colours of the web interface. */
const STYLE =
  'html{color-scheme:light dark;--ink:#23211d;--paper:#faf8f3;--surface:#fff;--muted:#655f55;--line:#b9b1a1;--accent:#1d5c57;--accent-ink:#fff}' +
  '@media(prefers-color-scheme:dark){html{--ink:#ebe7de;--paper:#161513;--surface:#1f1d1a;--muted:#a8a195;--line:#5d564c;--accent:#82cabd;--accent-ink:#0e2421}}' +
  'body{font:17px/1.5 system-ui,sans-serif;max-width:40rem;margin:4rem auto;padding:0 1.25rem;color:var(--ink);background:var(--paper)}' +
  'h1{font-size:1.7rem;line-height:1.25}h1,code,a,.where{overflow-wrap:anywhere}.code{color:var(--muted);font-size:.85rem}a{color:var(--accent)}' +
  'form{display:flex;flex-wrap:wrap;align-items:center;gap:.5rem;margin:2rem 0 1rem}label{display:contents}' +
  'input,button{font:inherit;padding:.45rem .8rem;border:1px solid var(--line);border-radius:6px;background:var(--surface);color:inherit}input{flex:1 1 12rem;min-width:0}' +
  'button{background:var(--accent);border-color:var(--accent);color:var(--accent-ink);cursor:pointer}';

/** A page that loads nothing. `content` must be safe HTML. */
export function plainPage(title: string, content: string): string {
  return (
    '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">' +
    `<title>${escapeHtml(title)}</title><style>${STYLE}</style></head>\n<body><main><h1>${escapeHtml(title)}</h1>\n${content}\n</main></body></html>\n`
  );
}

/** Navigation: the search box, more links (safe HTML), the collections and the start page. */
export function navigation(home: string, links: readonly string[] = []): string {
  const origin = escapeHtml(home);
  const all = [...links, `<a href="${origin}/collections">Collections</a>`, `<a href="${origin}/">Start page</a>`];
  return (
    `<form action="${origin}/search" role="search"><label>Search for <input name="q" type="search"></label> <button>Find</button></form>\n` +
    `<nav><p>${all.join(' \u00b7 ')}</p></nav>`
  );
}

/** The message without `where`. The text of `where` comes from elsewhere, so the page shows it on a line of its own. */
function titleOf({ message, where }: ProblemDetails): string {
  const sentence = where !== undefined && message.startsWith(`${where}: `) ? message.slice(where.length + 2) : message;
  return `${sentence.slice(0, 1).toUpperCase()}${sentence.slice(1)}`;
}

function problemContent({ status, code, advice, where }: ProblemDetails, home: string | undefined): string {
  const place = where === undefined ? '' : `<p class="where"><code>${escapeHtml(where)}</code></p>`;
  const adviceHtml = escapeHtml(advice).replace(/`([^`]*)`/g, '<code>$1</code>');
  return `${place}<p>${adviceHtml}</p><p class="code">${status} ${escapeHtml(code)}</p>${home === undefined ? '' : navigation(home)}`;
}
