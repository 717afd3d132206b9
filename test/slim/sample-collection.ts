/**
 * A sample collection like that of a crawler: files of every compression, duplicates within and across them, and
 * records that must not become revisits. Deterministic from a seed.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { digestOf, seededIds, seededRandom, utf8 } from '../../src/base/index.ts';
import { type Coding, type Field, type NewRecord, WarcFileWriter, warcFields } from '../../src/warc/index.ts';

export type SampleFile = { readonly name: string; readonly coding: Coding };

export const SAMPLE_FILES: readonly SampleFile[] = [
  { name: 'a/first.warc.gz', coding: 'gzip' },
  { name: 'a/plain.warc', coding: 'none' },
  { name: 'b/frames.warc.zst', coding: 'zstd' },
  { name: 'b/last.warc.gz', coding: 'gzip' },
];

type Page = {
  readonly uri: string;
  readonly body: Uint8Array;
  readonly fields?: readonly Field[];
  readonly head?: string;
  readonly isChunked?: boolean;
  readonly withDigest?: boolean;
  /** The declared payload digest, when it is not the correct one. */
  readonly digest?: string;
  readonly request?: string;
  readonly date?: string;
  readonly recordId?: string;
};

/** Text that does not compress well, so that revisits save space. */
export function bodyOf(number: number, bytes = 3000): Uint8Array {
  const random = seededRandom(number + 77);
  let text = `<!doctype html><title>Page ${number}</title>\n`;
  while (text.length < bytes) text += `${Math.floor(random() * 2 ** 32).toString(36)} `;
  return utf8(text);
}

export class SampleWriter {
  readonly #writer: WarcFileWriter;
  readonly #newId: () => string;
  #second: number;

  static async create(path: string, coding: Coding, seed: number): Promise<SampleWriter> {
    const writer = await WarcFileWriter.create(path, { coding, force: true });
    const sample = new SampleWriter(writer, seed);
    await sample.write(
      { type: 'warcinfo', recordId: sample.newId(), date: sample.nextDate(), contentType: 'application/warc-fields' },
      warcFields([{ name: 'software', value: 'a sample' }]),
    );
    return sample;
  }

  private constructor(writer: WarcFileWriter, seed: number) {
    this.#writer = writer;
    this.#newId = seededIds(seededRandom(seed));
    this.#second = seed * 1000;
  }

  newId(): string {
    return this.#newId();
  }

  nextDate(): string {
    return new Date(Date.UTC(2024, 0, 1) + this.#second++ * 1000).toISOString().replace('.000Z', 'Z');
  }

  async write(record: NewRecord, block: Uint8Array): Promise<void> {
    await this.#writer.write(record, block);
  }

  /** Writes a response and its request, and returns the id and date of the response. */
  async page(page: Page): Promise<{ recordId: string; date: string }> {
    const recordId = page.recordId ?? this.newId();
    const date = page.date ?? this.nextDate();
    const { uri: targetUri, body } = page;
    const stored = page.isChunked ? chunked(body) : body;
    const transfer = page.isChunked ? 'Transfer-Encoding: chunked\r\n' : `Content-Length: ${body.length}\r\n`;
    const head = `HTTP/1.1 200 OK\r\nDate: ${date}\r\n${page.head ?? 'Content-Type: text/html\r\n'}${transfer}\r\n`;
    await this.write(
      {
        type: 'response',
        recordId,
        date,
        targetUri,
        contentType: 'application/http; msgtype=response',
        payloadDigest: page.withDigest === false ? undefined : (page.digest ?? digestOf('sha1', body)),
        fields: [{ name: 'WARC-IP-Address', value: '192.0.2.1' }, ...(page.fields ?? [])],
      },
      Buffer.concat([utf8(head), stored]),
    );
    await this.write(
      {
        type: 'request',
        recordId: this.newId(),
        date,
        targetUri,
        contentType: 'application/http; msgtype=request',
        fields: [{ name: 'WARC-Concurrent-To', value: recordId }],
      },
      utf8(page.request ?? `GET / HTTP/1.1\r\nHost: ${new URL(targetUri).host}\r\n\r\n`),
    );
    return { recordId, date };
  }

  async revisit(
    uri: string,
    original: { uri: string; date: string; recordId?: string },
    body: Uint8Array,
  ): Promise<void> {
    const { uri: refersToTargetUri, date: refersToDate, recordId: refersTo } = original;
    await this.write(
      {
        type: 'revisit',
        recordId: this.newId(),
        date: this.nextDate(),
        targetUri: uri,
        contentType: 'application/http; msgtype=response',
        payloadDigest: digestOf('sha1', body),
        revisit: { profile: 'identical-payload-digest', refersTo, refersToTargetUri, refersToDate, truncated: true },
      },
      utf8('HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n'),
    );
  }

  async resource(uri: string, body: Uint8Array): Promise<void> {
    const record = { type: 'resource', recordId: this.newId(), date: this.nextDate(), targetUri: uri } as const;
    await this.write({ ...record, contentType: 'text/html' }, body);
  }

  async finish(): Promise<void> {
    await this.#writer.finish();
  }
}

/** An ARC file of HTTP messages with one body. */
export function arcOf(uris: readonly string[], body: Uint8Array): Uint8Array {
  const about = '1 0 a-sample\nURL IP-address Archive-date Content-type Archive-length\n\n';
  const parts = [utf8(`filedesc://one.arc 0.0.0.0 20240101000000 text/plain ${about.length}\n${about}\n`)];
  for (const [index, uri] of uris.entries()) {
    const message = Buffer.concat([utf8('HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n'), body]);
    parts.push(utf8(`${uri} 192.0.2.1 2024010100000${index} text/html ${message.length}\n`), message, utf8('\n'));
  }
  return Buffer.concat(parts);
}

/** A body in chunked coding. */
export function chunked(body: Uint8Array): Uint8Array {
  const parts: Uint8Array[] = [];
  for (let at = 0; at < body.length; at += 700) {
    const piece = body.subarray(at, at + 700);
    parts.push(utf8(`${piece.length.toString(16)}\r\n`), piece, utf8('\r\n'));
  }
  return Buffer.concat([...parts, utf8('0\r\n\r\n')]);
}

/** Writes the collection below a directory. `pages` is the number of different contents to choose from. */
export async function writeSampleCollection(
  directory: string,
  seed = 1,
  {
    pages = 12,
    captures = 20,
    files = SAMPLE_FILES,
  }: { pages?: number; captures?: number; files?: readonly SampleFile[] } = {},
): Promise<void> {
  const random = seededRandom(seed);
  for (const [number, { name, coding }] of files.entries()) {
    const path = join(directory, name);
    mkdirSync(join(path, '..'), { recursive: true });
    const sample = await SampleWriter.create(path, coding, seed * 100 + number);
    for (let capture = 0; capture < captures; capture++) {
      const page = Math.floor(random() * pages);
      const uri = `http://site${page % 3}.example/${number}/${capture}?p=${page}`;
      await sample.page({
        uri,
        body: bodyOf(page),
        isChunked: random() < 0.3,
        withDigest: random() < 0.8,
      });
    }
    await sample.finish();
  }
}
