/**
 * The CDX server over HTTP.
 *
 *     /cdx, /cdx/search/cdx              in the dialect of the Internet Archive, or the one in `dialect=`
 *     /cdx/pywb, /web-cdx                in the dialect of pywb
 *     /cdx/outbackcdx[/COLLECTION]       in the dialect of OutbackCDX; accepts lines by POST
 *
 * A short reply is sent at once, a long one in pieces as fast as the client reads them. When the client disconnects,
 * the scan ends.
 */
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Writable } from 'node:stream';
import { createGzip, gzipSync } from 'node:zlib';
import type { Archive } from '../../archive/index.ts';
import { acceptsGzip } from '../http/accept-encoding.ts';
import { disconnectSignal } from '../http/client-disconnect.ts';
import type { Guard } from '../http/guard.ts';
import { badRequest, HttpProblem, NOT_FOUND, requireReading } from '../http/problem.ts';
import { endReply } from '../http/reply-end.ts';
import { type CdxDialect, isDialect } from './cdx-dialect.ts';
import { cdxWriter } from './cdx-output.ts';
import { acceptCdxLines } from './cdx-post.ts';
import { BLOCK_LINES, parseCdxQuery } from './cdx-query.ts';
import { formatResumeKey } from './cdx-resume-key.ts';
import { type CdxScan, countCaptures, scanRows } from './cdx-scan.ts';

/** Lines are collected up to this size before a piece is sent. */
const PIECE_CHARACTERS = 64 * 1024;
const COMPRESSED_CHARACTERS_MIN = 1400;

const FIELDS = {
  'cache-control': 'no-cache',
  'cross-origin-resource-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
} as const;

type Endpoint = { readonly dialect: CdxDialect | undefined; readonly collection?: string };

const DIALECTS_OF_PATHS: ReadonlyMap<string, CdxDialect | undefined> = new Map([
  ['/cdx', undefined],
  ['/cdx/', undefined],
  ['/cdx/search/cdx', undefined],
  ['/web-cdx', 'pywb'],
  ['/cdx/pywb', 'pywb'],
  ['/cdx/ia', 'ia'],
  ['/cdx/outbackcdx', 'outbackcdx'],
  ['/cdx/outbackcdx/', 'outbackcdx'],
]);

/** The endpoint of a path; undefined for other paths. */
function cdxEndpoint(path: string): Endpoint | undefined {
  if (DIALECTS_OF_PATHS.has(path)) return { dialect: DIALECTS_OF_PATHS.get(path) };
  const match = /^\/cdx\/outbackcdx\/([\w.-]{1,100})$/.exec(path);
  return match ? { dialect: 'outbackcdx', collection: match[1]! } : undefined;
}

export class CdxRoute {
  readonly #archive: Archive;
  readonly #guard: Guard;

  constructor(archive: Archive, guard: Guard) {
    this.#archive = archive;
    this.#guard = guard;
  }

  /** Rejects with the error for the client. */
  async answer(request: IncomingMessage, response: ServerResponse, path: string, search: string): Promise<void> {
    const endpoint = cdxEndpoint(path);
    const parameters = new URLSearchParams(search);
    if (request.method === 'POST' && path.startsWith('/cdx/outbackcdx')) {
      await this.#accept(request, response, path, parameters);
      return;
    }
    if (!endpoint) throw new HttpProblem(NOT_FOUND);
    requireReading(request);
    await this.#guard.require(request, 'read');
    const dialect = parameters.get('dialect');
    if (dialect !== null && !isDialect(dialect))
      throw badRequest('the dialect is unknown', 'Use ia, pywb or outbackcdx.', dialect);
    const query = parseCdxQuery(parameters, endpoint.dialect ?? dialect ?? 'ia', endpoint.collection);
    await this.#requireCollection(query.collection);
    await this.#send({ archive: this.#archive, query, signal: disconnectSignal(response) }, request, response);
  }

  async #requireCollection(name: string | undefined): Promise<void> {
    if (name === undefined || (await this.#archive.collections.find(name)) !== undefined) return;
    throw new HttpProblem({
      status: 404,
      code: 'COLLECTION_MISSING',
      message: 'the archive has no such collection',
      advice: 'GET /api/collections lists the collections.',
      where: name,
    });
  }

  async #send(scan: CdxScan, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { query } = scan;
    if (query.showsNumPages) {
      sendText(response, ...(await pagesText(scan)));
      return;
    }
    const writer = cdxWriter(query);
    const isCompressed = query.mayCompress && acceptsGzip(request);
    let out: Writable | undefined;
    let resumeKey: string | undefined;
    let isEmpty = true;
    let text = writer.start();
    const onMore = query.showsResumeKey
      ? (last: Parameters<typeof formatResumeKey>[0]) => {
          resumeKey = formatResumeKey(last);
        }
      : undefined;
    for await (const rows of scanRows(scan, onMore && ((row) => onMore(row.capture)))) {
      isEmpty &&= rows.length === 0;
      for (const row of rows) {
        text += writer.row(row);
        if (text.length < PIECE_CHARACTERS) continue;
        out ??= beginReply(response, writer.contentType, isCompressed);
        if (!out.write(text)) await once(out, 'drain', { signal: scan.signal });
        text = '';
      }
    }
    if (isEmpty) await refuseEmpty(scan);
    text += writer.end(resumeKey);
    if (out) out.end(text);
    else sendText(response, writer.contentType, text, isCompressed);
  }

  async #accept(
    request: IncomingMessage,
    response: ServerResponse,
    path: string,
    parameters: URLSearchParams,
  ): Promise<void> {
    this.#guard.checkOrigin(request);
    await this.#guard.require(request, 'add');
    if (path.endsWith('/delete')) {
      throw new HttpProblem({
        status: 409,
        code: 'DELETE_REFUSED',
        message: 'lines of the index cannot be deleted alone',
        advice: 'Delete the captures with `pinakes delete` or POST /api/deletes, which show a preview first.',
      });
    }
    const collection = cdxEndpoint(path)?.collection;
    await this.#requireCollection(collection);
    const answer = await acceptCdxLines(this.#archive, request, {
      collection,
      skipsBadLines: parameters.get('badLines') === 'skip',
    });
    sendText(response, 'text/plain; charset=utf-8', answer);
  }
}

/** Clients request pages until one is refused. pywb also has a status for a reply without lines. */
async function refuseEmpty(scan: CdxScan): Promise<void> {
  const { page, url, dialect } = scan.query;
  if (dialect === 'outbackcdx') return;
  const last = page === undefined || page === 0 ? 0 : Math.max(1, (await countPages(scan)).pages) - 1;
  const isBeyond = page !== undefined && page > last;
  if (!isBeyond && dialect !== 'pywb') return;
  throw new HttpProblem({
    status: isBeyond ? 400 : 404,
    code: isBeyond ? 'BAD_REQUEST' : 'NO_CAPTURES',
    message: isBeyond ? `Page ${page} invalid: First Page is 0, Last Page is ${last}` : `No Captures found for: ${url}`,
    advice: isBeyond ? 'The page before was the last one.' : 'Add matchType=prefix for the URLs below this URL.',
    where: url,
  });
}

async function countPages(scan: CdxScan): Promise<{ pages: number; blocks: number }> {
  const captures = await countCaptures(scan);
  const blocks = Math.ceil(captures / BLOCK_LINES);
  return { pages: Math.ceil(blocks / scan.query.pageBlocks), blocks };
}

async function pagesText(scan: CdxScan): Promise<[contentType: string, text: string]> {
  const { pages, blocks } = await countPages(scan);
  if (scan.query.dialect !== 'pywb') return ['text/plain; charset=utf-8', `${pages}\n`];
  const text = `{"pages": ${pages}, "pageSize": ${scan.query.pageBlocks}, "blocks": ${blocks}}`;
  return ['application/json; charset=utf-8', text];
}

function beginReply(response: ServerResponse, contentType: string, isCompressed: boolean): Writable {
  response.writeHead(200, {
    ...FIELDS,
    'content-type': contentType,
    ...(isCompressed && { 'content-encoding': 'gzip', vary: 'accept-encoding' }),
  });
  if (!isCompressed) return response;
  const gzip = createGzip({ level: 1 });
  gzip.pipe(response);
  // After a disconnect nobody reads from gzip, so gzip must not wait for a reader.
  response.once('close', () => gzip.destroy());
  return gzip;
}

function sendText(response: ServerResponse, contentType: string, text: string, mayCompress = false): void {
  const isCompressed = mayCompress && text.length >= COMPRESSED_CHARACTERS_MIN;
  const body = isCompressed ? gzipSync(text, { level: 1 }) : Buffer.from(text);
  response.writeHead(200, {
    ...FIELDS,
    'content-type': contentType,
    'content-length': body.length,
    ...(isCompressed && { 'content-encoding': 'gzip', vary: 'accept-encoding' }),
  });
  endReply(response, body);
}
