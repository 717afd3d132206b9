/**
 * Answers a request for a URL at a time so that a browser can show the page. It opens no sockets: the server passes
 * requests in and sends the answers.
 *
 * First a capture is chosen. The capture's own record gives the head. The record that holds its content gives the
 * payload and its content codings, which are decoded. Pages, style sheets and scripts are rewritten; other content
 * passes as it is.
 */
import { type Archive, type Retrieved, soundPayload } from '../archive/index.ts';
import { bareMime, concat, EMPTY, type EpochMs, formatTimestamp, PinakesError, toHex, utf8 } from '../base/index.ts';
import { mayBeUtf8, sniffCharset } from '../page/index.ts';
import { requestKey, urlKey } from '../url/index.ts';
import { beginsLikeCoding, byteRange, CODING_MAGIC_BYTES, type HttpHead } from '../warc/index.ts';
import { captureWithOtherBuster, withCallback } from './choose/cache-buster.ts';
import type { Capture } from './choose/capture.ts';
import {
  type Chosen,
  chooseCapture,
  type HeldBytes,
  heldBytesOf,
  isWhole,
  requestedBytes,
} from './choose/capture-choice.ts';
import type { Exchange } from './choose/exchange-key.ts';
import { type Alternatives, alternativesTo, neighboursOf } from './choose/neighbours.ts';
import { documentPage, isViewed } from './document-page.ts';
import {
  httpDate,
  linkTarget,
  type MementoNeighbours,
  mementoLinks,
  type ReplayOrigins,
  resourceLinks,
} from './memento.ts';
import { pageHead } from './page-head.ts';
import { type Body, bytesBetween, decodedBody, gather, releaseBody } from './payload-body.ts';
import { parseReplayPath, REPLAY_ROOT, replayPath } from './replay-path.ts';
import { BodyRewriter, rewrittenType } from './rewrite/body-rewriter.ts';
import { contentKind } from './rewrite/content-kind.ts';
import { LinkRewriter } from './rewrite/link-rewriter.ts';
import { isPageModifier, type Modifier } from './rewrite/modifier.ts';
import { type FieldList, originalFields, originalLinks, safeValue } from './rewrite/response-head.ts';
import { SecurityFields } from './security-fields.ts';

export type ReplayRequest = {
  readonly url: string;
  /** Undefined for the latest capture. */
  readonly at: EpochMs | undefined;
  /** Whether a replayed page sent the request: for a link in the page, or for a part of the page. */
  readonly isFromPage: boolean;
  readonly modifier: Modifier;
  readonly method: string;
  readonly requestBody?: Uint8Array;
  /** Fields of the request, by name in lower case. */
  readonly fields: (name: string) => string | undefined;
};

export type ReplayResponse = {
  readonly status: number;
  readonly fields: FieldList;
  readonly body: Uint8Array | AsyncIterable<Uint8Array> | undefined;
  readonly capture?: Capture;
  /** Set if a page is not in the archive: the server then sends a page of its own. `body` is undefined. */
  readonly missing?: { readonly url: string };
  /**
   * Set if the archive has only redirections that lead back to themselves over these URLs: the server then sends a page
   * of its own. `body` is undefined.
   */
  readonly redirectLoop?: readonly string[];
};

export type ReplayOptions = {
  /** Whether the client has disconnected, so that the rest of the body is not needed. */
  readonly hasLeft?: () => boolean;
};

export class Replayer {
  readonly #archive: Archive;
  readonly #origins: ReplayOrigins;
  readonly #security: SecurityFields;

  constructor(archive: Archive, settings: ReplayOrigins) {
    this.#archive = archive;
    this.#origins = settings;
    this.#security = new SecurityFields(settings);
  }

  /** What the server offers in place of a missing page. */
  alternatives(url: string): Promise<Alternatives> {
    return alternativesTo(this.#archive, url);
  }

  async respond(request: ReplayRequest, options: ReplayOptions = {}): Promise<ReplayResponse> {
    const refusal = this.#refusal(request) ?? this.#framing(request);
    if (refusal) return refusal;
    const chosen = await this.#choose(request);
    if (!chosen) return (await this.#asLetters(request)) ?? this.#missing(request);
    // A request for a part of a page would get one redirection after another, and no content.
    if (chosen.redirectLoop?.length === 1 && !isOfMemento(request)) {
      await releaseBody(chosen.retrieved.payload);
      return (await this.#asLetters(request)) ?? this.#missing(request);
    }
    // A program gets the redirection as it is. A browser would follow the redirections until it gives up.
    if (chosen.redirectLoop && isNavigation(request) && request.fields('accept')?.includes('text/html')) {
      await releaseBody(chosen.retrieved.payload);
      return { status: 508, fields: this.#shortLived(), body: undefined, redirectLoop: chosen.redirectLoop };
    }
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    if (chosen.selfRedirect && isRead && isOfMemento(request)) {
      await releaseBody(chosen.retrieved.payload);
      return this.#leadOn(request, chosen.selfRedirect, chosen.capture, options);
    }
    const isOther = !isExact(chosen.capture, request.at) || !isOfPath(chosen.capture, request.url);
    if (isRead && isNavigation(request) && isOther) {
      await releaseBody(chosen.retrieved.payload);
      return this.#toExactTime(request, chosen.capture);
    }
    return withoutBody(request, await this.#answer(request, chosen, options));
  }

  /** Answers with a redirection of a URL to itself. Its Location is the capture that is shown in its place. */
  async #leadOn(
    request: ReplayRequest,
    self: Capture,
    shown: Capture,
    options: ReplayOptions,
  ): Promise<ReplayResponse> {
    const chosen = { capture: self, retrieved: await this.#archive.open(self), siblings: undefined };
    const answer = await this.#answer(request, chosen, options);
    const location = replayPath(linkTarget(shown.url), shown.time, request.modifier);
    const fields = answer.fields.map(([name, value]): [string, string] => [
      name,
      name === 'Location' ? location : value,
    ]);
    return withoutBody(request, { ...answer, fields });
  }

  /** A service worker of an archived page would control the whole origin of replay, so its script is never sent. */
  #refusal({ fields, modifier }: ReplayRequest): ReplayResponse | undefined {
    if (modifier !== 'sw_' && fields('service-worker') === undefined) return undefined;
    return this.#small(403, 'text/plain; charset=utf-8', 'Archived pages have no service workers.\n');
  }

  /** Redirects a window to the web interface, which shows the page in a frame and so keeps it inside the archive. */
  #framing({ url, at, modifier, fields }: ReplayRequest): ReplayResponse | undefined {
    if (fields('sec-fetch-dest') !== 'document' || modifier === 'id_') return undefined;
    const stamp = at === undefined ? '' : formatTimestamp(at);
    const shown = modifier === 'if_' || modifier === 'fr_' ? 'if_' : '';
    const slash = stamp === '' && shown === '' ? '' : '/';
    const target = `${this.#origins.uiOrigin}${REPLAY_ROOT}${stamp}${shown}${slash}${linkTarget(url)}`;
    return { status: 302, fields: [['Location', target], ...this.#shortLived()], body: EMPTY };
  }

  async #choose(request: ReplayRequest): Promise<Chosen | undefined> {
    const { url, at, isFromPage } = request;
    const side = isFromPage && isNavigation(request) ? 'notAfter' : 'either';
    const key = urlKey(url);
    const exchange = exchangeOf(request);
    if (!exchange) {
      const range = rangeOfContent(request);
      const chosen = await chooseCapture(this.#archive, { key, url, at, side, range });
      if (chosen || isNavigation(request) || request.modifier === 'id_') return chosen;
      const meant = await captureWithOtherBuster(this.#archive, key, at);
      return meant && chooseCapture(this.#archive, { key: meant.urlKey, url: meant.url, at, side, range });
    }
    const filed = await chooseCapture(this.#archive, { key: exchange.key, url, at, side, exchange });
    return filed ?? chooseCapture(this.#archive, { key, url, at, side, exchange });
  }

  /**
   * Some crawlers follow a redirection to a URL in Latin-1 by the letters of the URL instead of its bytes. The capture
   * then has the URL in UTF-8.
   */
  async #asLetters(request: ReplayRequest): Promise<ReplayResponse | undefined> {
    const url = request.url.replace(/%([89a-f][0-9a-f])/gi, (_, byte: string) =>
      encodeURI(String.fromCharCode(Number.parseInt(byte, 16))),
    );
    const chosen = url === request.url || exchangeOf(request) ? undefined : await this.#choose({ ...request, url });
    if (!chosen) return undefined;
    await releaseBody(chosen.retrieved.payload);
    return this.#toExactTime({ ...request, url }, chosen.capture);
  }

  #toExactTime({ url, modifier }: ReplayRequest, capture: Capture): ReplayResponse {
    const own = isOfPath(capture, url) ? url : capture.url;
    const fields: FieldList = [
      ['Location', replayPath(linkTarget(own), capture.time, modifier)],
      ['Link', resourceLinks(this.#origins, url).join(', ')],
      ...this.#shortLived(),
    ];
    return { status: 302, fields, body: EMPTY };
  }

  #missing(request: ReplayRequest): ReplayResponse {
    const { url, modifier, fields } = request;
    if (isNavigation(request)) {
      return { status: 404, fields: this.#shortLived(), body: undefined, missing: { url } };
    }
    const says = 'not in this archive';
    const destination = fields('sec-fetch-dest');
    if (modifier === 'cs_' || destination === 'style')
      return this.#small(404, 'text/css; charset=utf-8', `/* ${says} */\n`);
    if (SCRIPT_MODIFIERS.has(modifier) || destination === 'script') {
      return this.#small(404, 'text/javascript; charset=utf-8', `// ${says}\n`);
    }
    if (modifier === 'im_' || destination === 'image') return this.#small(404, 'image/svg+xml', NO_IMAGE);
    return this.#small(404, 'text/plain; charset=utf-8', `${says}: ${url.slice(0, 2000)}\n`);
  }

  #small(status: number, type: string, text: string): ReplayResponse {
    const body = utf8(text);
    const fields: FieldList = [
      ['Content-Type', type],
      ['Content-Length', String(body.length)],
      ...this.#security.raw,
      ...this.#shortLived(),
    ];
    return { status, fields, body };
  }

  #shortLived(): FieldList {
    return [['Cache-Control', 'no-store']];
  }

  async #answer(
    request: ReplayRequest,
    { capture, retrieved, siblings }: Chosen,
    options: ReplayOptions,
  ): Promise<ReplayResponse> {
    const neighbours = isNavigation(request) ? await neighboursOf(this.#archive, capture, siblings) : {};
    const isRaw = request.modifier === 'id_';
    const head = replayedHead(retrieved);
    const codings = (retrieved.holderHttp ?? retrieved.http)?.contentCodings ?? [];
    const stored = await gather(soundPayload(retrieved), options.hasLeft);
    const { start, body } = await withStart(isRaw ? stored : await decodedBody(stored, codings));
    const contentType = contentTypeOf(retrieved, head);
    const { destination, isForScript } = initiatorOf(request);
    const mime = bareMime(contentType);
    const kind = contentKind({ mime, modifier: request.modifier, destination, isForScript }, start);
    const status = statusOf(head, isForScript && start.length === 0);
    // Links have the requested time, like the links of the page. A module that is imported under two URLs would run
    // twice.
    const linksFor = (charset: string) =>
      new LinkRewriter(capture.url, request.at ?? capture.time, charset, this.#origins.replayOrigin);
    const links = linksFor('utf-8');
    const fields = this.#commonFields(capture, head, links, request.modifier, neighbours);
    if (NO_BODY.has(status)) {
      await releaseBody(body);
      return { status, fields: [...fields, ...this.#security.resource], body: undefined, capture };
    }
    if (kind === 'bytes' && isForFrame(request) && isViewed(contentType, status, head)) {
      await releaseBody(body);
      const page = utf8(documentPage(capture, this.#pageHead(request, capture)));
      fields.push(['Content-Type', 'text/html; charset=utf-8'], ['Content-Length', String(page.length)]);
      return { status, fields: [...fields, ...this.#security.document], body: page, capture };
    }
    if (kind === 'bytes') {
      if (contentType !== '') fields.push(['Content-Type', safeValue(contentType)]);
      // A client shows nothing of a body that does not match its Content-Encoding.
      const outermost = isRaw ? codings.at(-1) : undefined;
      if (outermost !== undefined && beginsLikeCoding(outermost, start))
        fields.push(['Content-Encoding', safeValue(codings.join(', '))]);
      const isDocument = /xml|html/.test(mime);
      fields.push(...(isRaw ? this.#security.raw : isDocument ? this.#security.document : this.#security.resource));
      const isStored = isRaw || codings.length === 0;
      const held = head?.status === 206 && isStored && (await heldBytesOf(this.#archive, capture, retrieved));
      const answer = { status, fields, body, capture };
      return (held && (await inPlace(request, answer, held))) || this.#bytes(request, answer, isStored);
    }
    fields.push(['Content-Type', rewrittenType(kind)]);
    fields.push(
      ...(kind === 'html' || kind === 'xhtml' || kind === 'svg' ? this.#security.document : this.#security.resource),
    );
    const isUndeclared = (kind === 'script' || kind === 'css') && !/charset\s*=/i.test(contentType);
    const isOfPageCharset = isUndeclared && !mayBeUtf8(start);
    const rewriter = new BodyRewriter({
      kind,
      contentType: contentType === '' ? undefined : contentType,
      pageCharset: isOfPageCharset ? await this.#pageCharset(request).catch(unlessDamaged) : undefined,
      linksFor: (charset) => (charset === 'utf-8' ? links : linksFor(charset)),
      head: this.#pageHead(request, capture),
      replayOrigin: this.#origins.replayOrigin,
      prepareScript: (text) => withCallback(text, capture.url, request.url),
    });
    const rewritten = rewriter.rewrite(body, start);
    if (rewritten instanceof Uint8Array) fields.push(['Content-Length', String(rewritten.length)]);
    return { status, fields, body: rewritten, capture };
  }

  /**
   * The charset of the page that sends the request; undefined if it is not known. Scripts and style sheets that declare
   * no charset have the charset of their page.
   */
  async #pageCharset({ fields }: ReplayRequest): Promise<string | undefined> {
    const { replayOrigin } = this.#origins;
    const referer = fields('referer') ?? '';
    const page = referer.startsWith(replayOrigin) ? parseReplayPath(referer.slice(replayOrigin.length)) : undefined;
    if (page?.kind !== 'capture' || !isPageModifier(page.modifier)) return undefined;
    const { url, time: at } = page;
    const chosen = await chooseCapture(this.#archive, { key: urlKey(url), url, at, side: 'either' });
    if (!chosen) return undefined;
    const { http, holderHttp, payload } = chosen.retrieved;
    const codings = (holderHttp ?? http)?.contentCodings ?? [];
    const { start, body } = await withStart(await decodedBody(await gather(payload), codings));
    await releaseBody(body);
    const charset = sniffCharset(start, contentTypeOf(chosen.retrieved, replayedHead(chosen.retrieved)));
    // The text is not UTF-8. If its page is UTF-8, the charset of the text is guessed from the bytes.
    return charset === 'utf-8' ? undefined : charset;
  }

  #pageHead({ at, modifier }: ReplayRequest, { url, time }: Capture): string {
    const requestStamp = formatTimestamp(at ?? time);
    return pageHead({ url, time, requestStamp, modifier, origins: this.#origins });
  }

  #commonFields(
    capture: Capture,
    head: HttpHead | undefined,
    links: LinkRewriter,
    modifier: Modifier,
    neighbours: MementoNeighbours,
  ): FieldList {
    const link = [mementoLinks(this.#origins, capture, neighbours), ...originalLinks(head, links)].join(', ');
    return [
      ['Memento-Datetime', httpDate(capture.time)],
      ['Link', link],
      ['Cache-Control', 'private, no-cache'],
      ['Vary', 'Sec-Fetch-Dest'],
      ...originalFields(head, links, modifier),
    ];
  }

  /** Sends bytes as they are: whole, in part, or not at all if the client has them. */
  async #bytes(request: ReplayRequest, answer: Bytes, isStored: boolean): Promise<ReplayResponse> {
    const { body, capture, fields } = answer;
    const size = body instanceof Uint8Array ? body.length : isStored ? await this.#sizeOf(capture) : undefined;
    const tag =
      isStored && capture.block ? `"${toHex(capture.block.digest).slice(0, 32)}~${capture.block.overflow}"` : undefined;
    if (tag) fields.push(['ETag', tag]);
    if (size === undefined) return answer;
    if (tag && answer.status === 200 && isNamedIn(request.fields('if-none-match'), tag)) {
      await releaseBody(body);
      return {
        status: 304,
        fields: fields.filter(([name]) => !/^content-(?:type|length)$/i.test(name)),
        body: undefined,
        capture,
      };
    }
    const condition = request.fields('if-range');
    const isAsked =
      request.method !== 'HEAD' && answer.status === 200 && (condition === undefined || condition === tag);
    const range = byteRange(isAsked ? request.fields('range') : undefined, size);
    fields.push(['Accept-Ranges', 'bytes']);
    if (range.kind === 'outside') return outside(answer, size);
    if (range.kind === 'whole') {
      fields.push(['Content-Length', String(size)]);
      return answer;
    }
    return partial(answer, range, 0, size);
  }

  async #sizeOf({ block }: Capture): Promise<number | undefined> {
    if (!block) return undefined;
    const [held] = await this.#archive.getBlocks([block]);
    return held?.size;
  }
}

async function withoutBody({ method }: ReplayRequest, answer: ReplayResponse): Promise<ReplayResponse> {
  if (method !== 'HEAD') return answer;
  await releaseBody(answer.body);
  return { ...answer, body: undefined };
}

type Bytes = ReplayResponse & { readonly capture: Capture; readonly body: Body };

const SCRIPT_MODIFIERS: ReadonlySet<string> = new Set(['js_', 'esm_', 'wkr_', 'wkrm_', 'wkrf_']);
const NO_IMAGE = '<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>\n';

/** What the browser fetches the URL for, and whether a script sent the request. */
function initiatorOf({ fields }: ReplayRequest): { destination: string | undefined; isForScript: boolean } {
  const destination = fields('sec-fetch-dest');
  return { destination, isForScript: destination === 'empty' || fields('x-pywb-requested-with') !== undefined };
}

/** Whether a window or a frame will show the answer: a reader followed a link or entered the URL. */
function isNavigation(request: ReplayRequest): boolean {
  return isPageModifier(request.modifier) && !isSubresource(request);
}

/** Whether a request is for a memento by itself, not for a part of a page. */
function isOfMemento(request: ReplayRequest): boolean {
  return isNavigation(request) || request.modifier === 'id_';
}

function isForFrame(request: ReplayRequest): boolean {
  return isNavigation(request) && /^i?frame$/.test(request.fields('sec-fetch-dest') ?? '');
}

const PAGE_DESTINATIONS: ReadonlySet<string> = new Set(['document', 'iframe', 'frame']);

function isSubresource(request: ReplayRequest): boolean {
  const { destination, isForScript } = initiatorOf(request);
  return isForScript || (destination !== undefined && !PAGE_DESTINATIONS.has(destination));
}

const PLAIN_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** The method and key of a request that sends data. Indexes of other tools list the answer under this key. */
function exchangeOf({ url, method, requestBody, fields }: ReplayRequest): Exchange | undefined {
  if (PLAIN_METHODS.has(method)) return undefined;
  return { method, key: requestKey(url, method, requestBody ?? EMPTY, fields('content-type') ?? '') };
}

/**
 * The requested range of a content, which any captured part of the content may answer. Undefined if the request means
 * bytes of this very capture: the stored bytes, or a range with the capture's tag.
 */
function rangeOfContent({ method, modifier, fields }: ReplayRequest): string | undefined {
  const isOfCapture = method === 'HEAD' || modifier === 'id_' || fields('if-range') !== undefined;
  return isOfCapture ? undefined : fields('range');
}

/**
 * Answers a request for bytes from a captured part, with offsets in the whole content; undefined if the part is shown
 * by itself. The answer has no tag, because players take parts with different tags for parts of different contents.
 */
async function inPlace(request: ReplayRequest, answer: Bytes, held: HeldBytes): Promise<ReplayResponse | undefined> {
  const range = rangeOfContent(request);
  const { size } = held;
  if (size === undefined || isWhole(held) || byteRange(range, size).kind === 'whole') return undefined;
  const bytes = requestedBytes(held, range);
  return bytes ? partial(answer, bytes, held.from, size) : outside(answer, size);
}

/**
 * Answers with bytes [from, to) of a content of this size, from a body that begins at offset `start` of the content.
 */
function partial(
  answer: Bytes,
  { from, to }: { from: number; to: number },
  start: number,
  size: number,
): ReplayResponse {
  const { body, capture } = answer;
  const fields = withoutExtent(answer.fields);
  fields.push(['Content-Range', `bytes ${from}-${to - 1}/${size}`], ['Content-Length', String(to - from)]);
  const [first, end] = [from - start, to - start];
  const part = body instanceof Uint8Array ? body.subarray(first, end) : bytesBetween(body, first, end);
  return { status: 206, fields, body: part, capture };
}

async function outside(answer: Bytes, size: number): Promise<ReplayResponse> {
  const { body, capture } = answer;
  await releaseBody(body);
  const fields = withoutExtent(answer.fields);
  fields.push(['Content-Range', `bytes */${size}`], ['Content-Length', '0']);
  return { status: 416, fields, body: EMPTY, capture };
}

/** Drops the original length and range, so that a script reads the length and range of this answer. */
function withoutExtent(fields: FieldList): FieldList {
  return fields.filter(([name]) => !/^x-archive-orig-content-(?:length|range)$/i.test(name));
}

/** Ignores damage of a page when a part of it is shown. Replay of the page itself reports the damage. */
function unlessDamaged(error: unknown): undefined {
  if (!(error instanceof PinakesError)) throw error;
}

/** Whether the capture is of this second. */
function isExact({ time }: Capture, at: EpochMs | undefined): boolean {
  return at !== undefined && formatTimestamp(at) === formatTimestamp(time);
}

/**
 * Whether a requested URL has the path of a capture. Links that scripts make depend on the path: a relative link means
 * another URL in `/a/` than in `/a`.
 */
function isOfPath(capture: Capture, url: string): boolean {
  if (capture.url === url) return true;
  const own = plainPath(capture.url);
  return own === undefined || own === plainPath(url);
}

/**
 * A path without escapes and double slashes: each browser escapes `|` and others in its own way, and proxies merge
 * slashes. A redirection because of such a difference would never end.
 */
function plainPath(url: string): string | undefined {
  const { protocol, pathname } = URL.parse(linkTarget(url)) ?? {};
  if (pathname === undefined || !/^https?:$/.test(protocol ?? '')) return undefined;
  const unescaped = pathname.replace(/%([0-9a-f]{2})/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
  return unescaped.replace(/\/{2,}/g, '/');
}

/**
 * The capture's own head, or the head of the record with the content if the own head is missing or "not modified"
 * (304).
 */
function replayedHead({ http, holderHttp }: Retrieved): HttpHead | undefined {
  return http === undefined || http.status === 304 ? (holderHttp ?? http) : http;
}

/** The statuses of answers that never have a body. */
const NO_BODY: ReadonlySet<number> = new Set([204, 205]);

/**
 * A status that browsers accept with a body and without another request. A script may get a status without a body; a
 * window would then stay on its page.
 */
function statusOf(head: HttpHead | undefined, mayBeEmpty: boolean): number {
  const status = head?.status ?? 200;
  if (mayBeEmpty && NO_BODY.has(status)) return status;
  if (status < 200 || status === 204 || status === 205 || status === 206 || status === 304) return 200;
  if (status === 407) return 403;
  return status > 599 ? 500 : status;
}

function contentTypeOf({ http, holderHttp, head: record }: Retrieved, head: HttpHead | undefined): string {
  const declared = head?.get('content-type') ?? holderHttp?.get('content-type');
  if (declared !== undefined) return declared.trim();
  return http || holderHttp ? '' : (record.get('arc-mime') ?? record.contentType ?? '');
}

/** The start of a body, long enough to recognize its coding, and the whole body. */
async function withStart(body: Body): Promise<{ start: Uint8Array; body: Body }> {
  if (body instanceof Uint8Array) return { start: body, body };
  const iterator = body[Symbol.asyncIterator]();
  let start: Uint8Array = EMPTY;
  while (start.length < CODING_MAGIC_BYTES) {
    const next = await iterator.next();
    if (next.done) break;
    // A short piece is copied, because it is valid only until the next one is read.
    start = next.value.length >= CODING_MAGIC_BYTES && start.length === 0 ? next.value : concat([start, next.value]);
  }
  async function* whole(): AsyncGenerator<Uint8Array> {
    try {
      yield start;
      for (let next = await iterator.next(); !next.done; next = await iterator.next()) yield next.value;
    } finally {
      await iterator.return?.();
    }
  }
  return { start, body: whole() };
}

function isNamedIn(field: string | undefined, tag: string): boolean {
  return field !== undefined && (field.trim() === '*' || field.includes(tag));
}
