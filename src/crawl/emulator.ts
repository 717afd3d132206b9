/**
 * Replays a stored archive as if it were being crawled (WebBase, crawl emulator). It stores the pages in another
 * archive, in order of time and at a set rate. It tests storing, indexing and streams without a crawler.
 *
 * Each copy keeps the time and the address of its source record, so no page seems to be captured now. Damaged records
 * are left out and reported, since a new copy would look intact. So are revisits whose content the source does not
 * hold.
 */
import { setTimeout } from 'node:timers/promises';
import { type Archive, type Capture, type Retrieved, soundPayload } from '../archive/index.ts';
import { PinakesError, utf8 } from '../base/index.ts';
import type { Field, HttpHead } from '../warc/index.ts';
import type { CrawlReport } from './report.ts';
import { UNBOUNDED } from './settings.ts';

export type EmulateOptions = {
  /** Pages stored per second. If undefined, pages are stored as fast as possible. */
  readonly rate?: number;
  /** The emulation stops at these limits. */
  readonly pagesMax?: number;
  readonly bytesMax?: number;
  readonly timeMsMax?: number;
  /** The collection that the pages are stored in. */
  readonly collection: string;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: EmulateReport) => void;
  /** Called for every record that is left out because it, or the record that holds its content, is damaged. */
  readonly onDamage?: (where: string, why: string) => void;
};

export type EmulateReport = {
  pages: number;
  new: number;
  duplicate: number;
  bytes: number;
  /** Records left out because they are damaged in the source. */
  damaged: number;
  /** Revisits left out because the source does not hold their content. */
  unresolved: number;
  elapsedMs: number;
  /** The limit that ended the emulation while pages were left. */
  limit?: CrawlReport['limit'];
};

const CONCURRENCY = 16;
/** Fields about the exchange, which the copy keeps. */
const KEPT_FIELDS = /^(warc-ip-address|warc-protocol|warc-cipher-suite|warc-truncated)$/i;

export async function emulate(target: Archive, source: Archive, options: EmulateOptions): Promise<EmulateReport> {
  const startMs = target.clock();
  const report: EmulateReport = { pages: 0, new: 0, duplicate: 0, bytes: 0, damaged: 0, unresolved: 0, elapsedMs: 0 };
  const onDamage = (where: string, why: string) => {
    report.damaged++;
    options.onDamage?.(where, why);
  };
  const { pagesMax = UNBOUNDED, bytesMax = UNBOUNDED, timeMsMax = UNBOUNDED } = options;
  const reachedLimit = () => {
    if (report.pages >= pagesMax) return 'pages';
    if (report.bytes >= bytesMax) return 'bytes';
    return target.clock() - startMs >= timeMsMax ? 'time' : undefined;
  };
  const pending = new Set<Promise<void>>();
  let failure: unknown;
  let begun = 0;
  for await (const capture of capturesByTime(source, onDamage)) {
    options.signal?.throwIfAborted();
    if (failure !== undefined) break;
    // Wait for pages that are being stored: damaged ones are left out and do not count.
    while (pending.size > 0 && report.pages + pending.size >= pagesMax) await Promise.race(pending);
    const limit = reachedLimit();
    if (limit) {
      report.limit = limit;
      break;
    }
    if (options.rate !== undefined) {
      const waitMs = startMs + (begun * 1000) / options.rate - target.clock();
      if (waitMs > 0) await setTimeout(waitMs, undefined, options.signal && { signal: options.signal });
    }
    begun++;
    const feeding = feed(target, source, capture, options.collection, report)
      .catch((error: unknown) => {
        if (error instanceof PinakesError && error.code === 'RECORD_DAMAGED') onDamage(capture.url, error.message);
        else failure ??= error;
      })
      .finally(() => {
        pending.delete(feeding);
        report.elapsedMs = target.clock() - startMs;
        options.onProgress?.(report);
      });
    pending.add(feeding);
    if (pending.size >= CONCURRENCY) await Promise.race(pending);
  }
  await Promise.all(pending);
  if (failure !== undefined) throw failure;
  return report;
}

/**
 * The captures of an archive in order of time. The stream sorts on disk; each record is looked up again as a capture.
 */
async function* capturesByTime(
  source: Archive,
  onDamage: (where: string, why: string) => void,
): AsyncGenerator<Capture> {
  let isFed = false;
  const stream = await source.stream({
    order: 'time',
    // `feed` reports the damage of a yielded capture. A damaged head may name no capture, so its damage is reported
    // here.
    onDamage: ({ comes, url, segment, offset, message }) => {
      if (comes === 'nothing' || !isFed) onDamage(url ?? `${segment}:${offset}`, message);
    },
  });
  for await (const record of stream) {
    isFed = false;
    const { head } = record;
    const { targetUri, time } = head;
    if (!targetUri || time === undefined) continue;
    for await (const capture of source.capturesOfUrl(targetUri, { from: time, to: time })) {
      if (
        capture.url === targetUri &&
        capture.place.offset === head.offset &&
        capture.place.segment === record.segment.number
      ) {
        isFed = true;
        yield capture;
        break;
      }
    }
  }
}

async function feed(
  target: Archive,
  source: Archive,
  capture: Capture,
  collection: string,
  report: EmulateReport,
): Promise<void> {
  if (capture.kind === 'revisit' && !capture.block) {
    report.unresolved++;
    return;
  }
  const opened = await source.open(capture);
  const retrieved = { ...opened, payload: soundPayload(opened) };
  const { url, time } = capture;
  const fields: Field[] = retrieved.head.fields.filter(
    ({ name }) => KEPT_FIELDS.test(name) && !(capture.kind === 'revisit' && /truncated/i.test(name)),
  );
  const http = capture.status === 304 ? retrieved.holderHttp : (retrieved.http ?? retrieved.holderHttp);
  const count = { bytes: 0 };
  const stored = await target.store(
    http
      ? { kind: 'http', url, time, responseHead: http.bytes, body: framedBody(retrieved, http, count), fields }
      : {
          kind: 'resource',
          url,
          time,
          mime: capture.mime || 'application/octet-stream',
          body: countedPieces(retrieved.payload, count),
          fields,
        },
    { collection },
  );
  report.pages++;
  report.bytes += count.bytes;
  if (stored.isNew) report.new++;
  else report.duplicate++;
}

/** The payload, with the framing that the head declares. */
async function* framedBody(
  { payload }: Retrieved,
  head: HttpHead,
  count: { bytes: number },
): AsyncGenerator<Uint8Array> {
  if (!head.isChunked) {
    yield* countedPieces(payload, count);
    return;
  }
  for await (const piece of countedPieces(payload, count)) {
    if (piece.length === 0) continue;
    yield utf8(`${piece.length.toString(16)}\r\n`);
    yield piece;
    yield utf8('\r\n');
  }
  yield utf8('0\r\n\r\n');
}

async function* countedPieces(
  payload: AsyncIterable<Uint8Array>,
  count: { bytes: number },
): AsyncGenerator<Uint8Array> {
  for await (const piece of payload) {
    count.bytes += piece.length;
    yield piece;
  }
}
