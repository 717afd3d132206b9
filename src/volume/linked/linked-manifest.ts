/**
 * The manifest of a linked volume: the files elsewhere that are its objects. A text file of JSON lines that only grows.
 *
 *     {"pinakes":"linked-volume","name":"old-crawls"}
 *     {"name":"2009/a.warc.gz","path":"...","bytes":1000,"mtimeMs":1250000000000,"sha256":"...","sectors":"..."}
 *     {"name":"2009/b.warc.gz","url":"https://...","bytes":1000,"sha256":"...","etag":"...","lastModified":"..."}
 *     {"unlinked":"2009/a.warc.gz"}
 *
 * - Lines are durable when `add` returns. Lines added at the same time share a sync.
 * - A last line without its line feed was never acknowledged. It is cut off before the next line is added.
 * - An unreadable line in the middle costs no other line. `damagedLines` has its number.
 */
import { open, readFile } from 'node:fs/promises';
import { fromUtf8, LF, PinakesError, replaceFile, utf8 } from '../../base/index.ts';
import { isGone } from '../directory/directory-layout.ts';
import { isObjectName } from '../object-name.ts';
import type { RemoteFile } from '../remote/remote-files.ts';
import { isRemoteUrl } from '../remote/remote-place.ts';
import { volumeError, whereIn } from '../volume-error.ts';
import { areSectors, type FileEnds } from './file-ends.ts';

/** A file on another server, or on this machine. */
export type LinkedFile = LocalFile | RemoteFile;

/** It has a digest, sectors, or both; lines of older versions have no sectors. */
export type LocalFile = FileEnds & {
  readonly name: string;
  readonly path: string;
  readonly bytes: number;
  readonly mtimeMs: number;
};

export type ManifestLine = LinkedFile | { readonly unlinked: string };

type Waiting = { readonly lines: readonly ManifestLine[]; done(): void; failed(cause: unknown): void };

/** Creates the manifest of a volume without files; leaves an existing manifest as it is. */
export async function createManifest(volume: string, path: string): Promise<void> {
  try {
    const text = await readFile(path).catch((cause: unknown) => {
      if (!isGone(cause)) throw cause;
    });
    if (text && isHead(text)) return;
    if (text && text.length > 0) throw notManifest(volume, path);
    await replaceFile(path, `${JSON.stringify({ pinakes: 'linked-volume', name: volume })}\n`, `${path}.new`);
  } catch (cause) {
    throw volumeError(cause, `${whereIn(volume)} at ${path}`, 'writing');
  }
}

export class LinkedManifest {
  readonly #volume: string;
  readonly #path: string;
  readonly files = new Map<string, LinkedFile>();
  readonly damagedLines: number[] = [];
  /** Length of the lines that count; bytes after them were never acknowledged. */
  #bytes = 0;
  /** Length of the file as this process knows it. */
  #fileBytes = 0;
  #doubted = false;
  #waiting: Waiting[] = [];
  #writing: Promise<void> | undefined;

  private constructor(volume: string, path: string) {
    this.#volume = volume;
    this.#path = path;
  }

  static async open(volume: string, path: string): Promise<LinkedManifest> {
    const manifest = new LinkedManifest(volume, path);
    let text: Uint8Array;
    try {
      text = await readFile(path);
    } catch (cause) {
      const where = `${whereIn(volume)} at ${path}`;
      throw isGone(cause) ? new PinakesError('VOLUME_MISSING', { where, cause }) : volumeError(cause, where, 'reading');
    }
    if (!isHead(text)) throw notManifest(volume, path);
    manifest.#take(text);
    return manifest;
  }

  /** Adds lines, all or none, durably. */
  add(lines: readonly ManifestLine[]): Promise<void> {
    return new Promise((done, failed) => {
      this.#waiting.push({ lines, done, failed });
      this.#writing ??= this.#writeWaiting().finally(() => {
        this.#writing = undefined;
      });
    });
  }

  async idle(): Promise<void> {
    await this.#writing;
  }

  async #writeWaiting(): Promise<void> {
    while (this.#waiting.length > 0) {
      const group = this.#waiting.splice(0);
      const lines = group.flatMap((waiting) => waiting.lines);
      try {
        await this.#write(utf8(lines.map((line) => `${JSON.stringify(line)}\n`).join('')));
        for (const line of lines) this.#apply(line);
        for (const { done } of group) done();
      } catch (cause) {
        for (const { failed } of group)
          failed(volumeError(cause, `${whereIn(this.#volume)} at ${this.#path}`, 'writing'));
      }
    }
  }

  async #write(text: Uint8Array): Promise<void> {
    if (this.#doubted) throw this.#moved('an earlier write to it failed; open the volume again');
    await using file = await open(this.#path, 'r+');
    const { size } = await file.stat();
    if (size !== this.#fileBytes) throw this.#moved(`it is ${size} bytes long, not ${this.#fileBytes}`);
    this.#doubted = true;
    if (size > this.#bytes) await file.truncate(this.#bytes);
    this.#fileBytes = this.#bytes;
    try {
      for (let written = 0; written < text.length; ) {
        written += (await file.write(text, written, text.length - written, this.#bytes + written)).bytesWritten;
      }
    } catch (cause) {
      await file.truncate(this.#bytes);
      this.#doubted = false;
      throw cause;
    }
    // A failed sync leaves the manifest doubted: a later sync could succeed without having written anything.
    await file.datasync();
    this.#doubted = false;
    this.#bytes += text.length;
    this.#fileBytes = this.#bytes;
  }

  #moved(detail: string): PinakesError {
    return new PinakesError('OBJECT_MOVED', { where: `${whereIn(this.#volume)} at ${this.#path}`, detail });
  }

  #take(text: Uint8Array): void {
    this.#fileBytes = text.length;
    let number = 1;
    for (let end = text.indexOf(LF, 0); end >= 0; end = text.indexOf(LF, this.#bytes)) {
      const line = number === 1 ? 'head' : parseLine(fromUtf8(text, this.#bytes, end));
      if (!line) this.damagedLines.push(number);
      else if (line !== 'head') this.#apply(line);
      this.#bytes = end + 1;
      number++;
    }
    // A torn line begins like a line. NULs, which a failing disk leaves, may have replaced any number of lines.
    const rest = text.subarray(this.#bytes);
    if (rest.length > 0 && (!fromUtf8(rest, 0, 1).startsWith('{') || rest.includes(0))) this.damagedLines.push(number);
  }

  #apply(line: ManifestLine): void {
    if ('unlinked' in line) this.files.delete(line.unlinked);
    else this.files.set(line.name, line);
  }
}

function isHead(text: Uint8Array): boolean {
  const end = text.indexOf(LF);
  const value = end < 0 ? undefined : parseObject(fromUtf8(text, 0, end));
  return value?.pinakes === 'linked-volume';
}

function notManifest(volume: string, path: string): PinakesError {
  const detail = 'the file is not a manifest of linked files';
  return new PinakesError('VOLUME_MISSING', { where: `${whereIn(volume)} at ${path}`, detail });
}

function parseLine(text: string): ManifestLine | undefined {
  const value = parseObject(text);
  if (!value) return undefined;
  const { name, path, bytes, mtimeMs, sha256, sectors, unlinked } = value;
  if (typeof unlinked === 'string') return { unlinked };
  if (typeof name !== 'string' || !isObjectName(name)) return undefined;
  if (typeof bytes !== 'number' || !Number.isSafeInteger(bytes) || bytes < 0) return undefined;
  if (sha256 !== undefined && (typeof sha256 !== 'string' || !/^[0-9a-f]{64}$/.test(sha256))) return undefined;
  if (value.url !== undefined) return sha256 === undefined ? undefined : parseRemote(value, { name, bytes, sha256 });
  if (typeof path !== 'string' || typeof mtimeMs !== 'number') return undefined;
  if (sectors === undefined ? sha256 === undefined : !areSectors(sectors)) return undefined;
  return {
    name,
    path,
    bytes,
    mtimeMs,
    ...(sha256 !== undefined && { sha256 }),
    ...(areSectors(sectors) && { sectors }),
  };
}

function parseRemote(
  { url, endpoint, region, etag, lastModified }: Readonly<Record<string, unknown>>,
  file: Pick<RemoteFile, 'name' | 'bytes' | 'sha256'>,
): RemoteFile | undefined {
  if (typeof url !== 'string' || !isRemoteUrl(url) || !URL.canParse(url)) return undefined;
  const others = Object.entries({ endpoint, region, etag, lastModified }).filter(([, text]) => text !== undefined);
  return others.every(([, text]) => typeof text === 'string')
    ? { ...file, url, ...(Object.fromEntries(others) as Pick<RemoteFile, 'endpoint'>) }
    : undefined;
}

function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
