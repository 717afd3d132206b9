/**
 * What a client is told when a request cannot be served: a status, a stable code, a sentence and advice; as JSON or as
 * a small page, by what it accepts. Faults of ours are told without particulars, which go to the operator only.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { ERROR_CATALOGUE, type ErrorCode, PinakesError } from '../../base/index.ts';
import { frameReport } from './frame-report.ts';
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
  ARCHIVE_FULL: 507,
  BAD_ARGUMENT: 400,
  BAD_QUERY: 400,
  CONTENT_KEY_INVALID: 400,
  CONTENT_MISSING: 404,
  CURSOR_EXPIRED: 410,
  DISK_FULL: 507,
  NOT_WACZ: 422,
  NOT_WARC: 422,
  NO_RECORD: 404,
  RECORD_DAMAGED: 502,
  SNAPSHOT_MISSING: 404,
  VOLUME_UNKNOWN: 404,
};

/** The problem that an error is to a client. `isFault` tells whether the operator should hear of it. */
export function problemFromError(error: unknown): { problem: Problem; isFault: boolean } {
  if (error instanceof HttpProblem) return { problem: error.problem, isFault: false };
  if (error instanceof PinakesError) {
    const { code, message, advice, where } = error;
    const status = STATUS_BY_CODE[code] ?? (error.retryable ? 503 : 500);
    if (status < 500 || code === 'RECORD_DAMAGED')
      return { problem: { status, code, message, advice, where }, isFault: status >= 500 };
    // Where files lie on the machine of the server is nobody's business but the operator's.
    const { says } = ERROR_CATALOGUE[code];
    return {
      problem: { status, code, message: says, advice: status === 500 ? INTERNAL.advice : advice },
      isFault: true,
    };
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

/** Fields that every page of our own making has. */
export const PLAIN_PAGE_FIELDS: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

/** Such a page loads nothing. Its search box, when it has one, sends to the web page only. */
export function pagePolicy(home: string | undefined): string {
  return `default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action ${home ?? "'none'"}`;
}

/**
 * Whether a browser asks for something to show in its window. Over plain HTTP browsers say so on localhost only;
 * elsewhere they still say that they could do with HTTPS.
 */
export function isForWindow({ headers }: IncomingMessage): boolean {
  const destination = headers['sec-fetch-dest'];
  return destination === undefined ? headers['upgrade-insecure-requests'] === '1' : destination === 'document';
}

/** In a frame the page around it leads on, and nothing inside may lead out of it. */
export function isFramed(request: IncomingMessage): boolean {
  return /^i?frame$/.test(String(request.headers['sec-fetch-dest'] ?? ''));
}

/** `home` is the origin of the web page, which the page then leads on to; without it there are no ways on. */
export function sendProblem(request: IncomingMessage, response: ServerResponse, problem: Problem, home?: string): void {
  if (response.headersSent) {
    // The reply is half out: only a broken connection tells the client that the rest is missing.
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

/** Whether a client names a media type among those it accepts. */
export function accepts(accept: string | undefined, mime: string): boolean {
  return accept?.toLowerCase().includes(mime) === true;
}

export function escapeHtml(text: string): string {
  const named: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
  return text.replace(/[&<>"']/g, (character) => named[character]!);
}

/** The colours are those of the web page. */
const STYLE =
  'html{color-scheme:light dark;--ink:#23211d;--paper:#faf8f3;--surface:#fff;--muted:#655f55;--line:#b9b1a1;--accent:#1d5c57;--accent-ink:#fff}' +
  '@media(prefers-color-scheme:dark){html{--ink:#ebe7de;--paper:#161513;--surface:#1f1d1a;--muted:#a8a195;--line:#5d564c;--accent:#82cabd;--accent-ink:#0e2421}}' +
  'body{font:17px/1.5 system-ui,sans-serif;max-width:40rem;margin:4rem auto;padding:0 1.25rem;color:var(--ink);background:var(--paper)}' +
  'h1{font-size:1.7rem;line-height:1.25}h1,code,a,.where{overflow-wrap:anywhere}.code{color:var(--muted);font-size:.85rem}a{color:var(--accent)}' +
  'form{display:flex;flex-wrap:wrap;align-items:center;gap:.5rem;margin:2rem 0 1rem}label{display:contents}' +
  'input,button{font:inherit;padding:.45rem .8rem;border:1px solid var(--line);border-radius:6px;background:var(--surface);color:inherit}input{flex:1 1 12rem;min-width:0}' +
  'button{background:var(--accent);border-color:var(--accent);color:var(--accent-ink);cursor:pointer}';

/** A page that loads nothing. `content` is HTML of our own making. */
export function plainPage(title: string, content: string): string {
  return (
    '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">' +
    `<title>${escapeHtml(title)}</title><style>${STYLE}</style></head>\n<body><main><h1>${escapeHtml(title)}</h1>\n${content}\n</main></body></html>\n`
  );
}

/**
 * Where to go from here: the search box, further links (HTML of our own making), the collections and the first page.
 */
export function waysOn(home: string, links: readonly string[] = []): string {
  const origin = escapeHtml(home);
  const all = [...links, `<a href="${origin}/collections">Collections</a>`, `<a href="${origin}/">Start page</a>`];
  return (
    `<form action="${origin}/search" role="search"><label>Search for <input name="q" type="search"></label> <button>Find</button></form>\n` +
    `<nav><p>${all.join(' \u00b7 ')}</p></nav>`
  );
}

/** The place, which is somebody else's words, has a line of its own. */
function titleOf({ message, where }: Problem): string {
  const sentence = where !== undefined && message.startsWith(`${where}: `) ? message.slice(where.length + 2) : message;
  return `${sentence.slice(0, 1).toUpperCase()}${sentence.slice(1)}`;
}

function problemContent({ status, code, advice, where }: Problem, home: string | undefined): string {
  const place = where === undefined ? '' : `<p class="where"><code>${escapeHtml(where)}</code></p>`;
  const told = escapeHtml(advice).replace(/`([^`]*)`/g, '<code>$1</code>');
  return `${place}<p>${told}</p><p class="code">${status} ${escapeHtml(code)}</p>${home === undefined ? '' : waysOn(home)}`;
}
