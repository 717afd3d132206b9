/**
 * Reads files on other servers by ranges. A file that is not the one that was described fails with OBJECT_CHANGED, a
 * missing one with FILE_MISSING, and one whose server is away with FILE_UNREACHABLE. Each error names the address and
 * costs no other file.
 *
 * - Every answer says the length of the file, and its ETag or its time of change. When these differ from the
 *   description, as after the file moved to another server, the beginning and the end of the file are compared with the
 *   fingerprint. A server that says neither is compared once by each process.
 * - A connection that is cut is resumed where it stopped. Waits are bounded, so a server that is silent fails a read in
 *   a few seconds, and waits for it do not delay other servers: each has a limit of its own.
 */
import {
  type Clock,
  concat,
  mapLimited,
  PinakesError,
  type Random,
  RunningDigest,
  seededRandom,
  toHex,
} from '../../base/index.ts';
import type { VolumeCall } from '../part-volume.ts';
import { joinedRanges } from '../s3/joined-ranges.ts';
import { HeardBody } from '../s3/object-stream.ts';
import { RequestLimit } from '../s3/request-limit.ts';
import { READ_POLICY, sleepReally, withRetries } from '../s3/retries.ts';
import { failureOf } from '../s3/s3-error.ts';
import type { ReadRange } from '../volume.ts';
import { HttpRanges } from './http-range.ts';
import { changedFile, type RemoteAnswer, type RemoteVersion, remoteError, statusOf } from './remote-answer.ts';
import type { RemotePlace } from './remote-place.ts';
import { type ListedFile, S3Ranges } from './s3-ranges.ts';

/** The length of the beginning and of the end that are compared. */
export const END_BYTES = 64 * 1024;
const READS_AT_ONCE = 8;
/** Cuts one after another without a byte between them. */
const CUTS_MAX = 5;

/** A file as it was when it was linked. `sha256`: of its first and last bytes, joined. */
export type RemoteFile = RemotePlace & RemoteVersion & { readonly name: string; readonly sha256: string };

/** A file that is not described yet. */
export type InspectedFile = RemotePlace & RemoteVersion;

export class RemoteFiles {
  readonly #http = new HttpRanges();
  readonly #s3: S3Ranges;
  readonly #random: Random;
  readonly #limits = new Map<string, RequestLimit>();
  /** The state in which a file was found to be the one that was described. */
  readonly #accepted = new WeakMap<InspectedFile, string>();

  constructor(volume: string, clock: Clock | undefined) {
    this.#s3 = new S3Ranges(volume, clock);
    this.#random = seededRandom(clock?.() ?? 0);
  }

  /** The state of a file, and its first bytes. */
  async inspect(place: RemotePlace, call: VolumeCall = {}): Promise<{ file: InspectedFile; start: Uint8Array }> {
    return this.#naming(place, call, async () => {
      const { version, bytes } = await this.#short(place, 0, END_BYTES, call);
      return { file: { ...place, ...version }, start: bytes };
    });
  }

  /** The objects in a bucket whose keys begin with that of the place, in pages. */
  async *list(place: RemotePlace, call: VolumeCall = {}): AsyncGenerator<ListedFile[]> {
    try {
      yield* this.#s3.list(place, call);
    } catch (error) {
      call.signal?.throwIfAborted();
      throw remoteError(error, place.url);
    }
  }

  /** Fails when the file is missing or changed. */
  async check(file: RemoteFile, call: VolumeCall = {}): Promise<void> {
    await this.#naming(file, call, async () => {
      (await this.#begin(file, 0, 1, call)).body.destroy();
    });
  }

  /** The bytes of ranges, whose names are those of the files. */
  async read(ranges: readonly ReadRange[], fileOf: (name: string) => RemoteFile): Promise<Uint8Array[]> {
    const results: Uint8Array[] = new Array(ranges.length);
    await mapLimited(joinedRanges(ranges), READS_AT_ONCE, async ({ name, offset, end, wanted }) => {
      const file = fileOf(name);
      await this.#limitOf(file).run(async () => {
        if (offset === end) await this.check(file);
        const pieces: Uint8Array[] = [];
        for await (const piece of this.stream(file, offset, end)) pieces.push(new Uint8Array(piece));
        const bytes = concat(pieces);
        for (const index of wanted) {
          const { offset: from, length } = ranges[index]!;
          results[index] = bytes.slice(from - offset, from - offset + length);
        }
      });
    });
    return results;
  }

  /** The bytes of a range, up to the end of the file. */
  async *stream(
    file: InspectedFile | RemoteFile,
    from: number,
    end: number,
    call: VolumeCall = {},
  ): AsyncGenerator<Uint8Array> {
    const to = Math.min(end, file.bytes);
    let at = from;
    for (let cuts = 0; at < to; cuts++) {
      const before = at;
      try {
        const { body } = await this.#begin(file, at, to, call);
        using heard = new HeardBody(body, call);
        for (let piece = await heard.next(); piece; piece = await heard.next()) {
          const wanted = piece.subarray(0, to - at);
          at += wanted.length;
          if (wanted.length > 0) yield wanted;
          else if (piece.length > 0) return;
        }
        if (at < to) throw endedEarly();
      } catch (error) {
        call.signal?.throwIfAborted();
        if (at > before) cuts = 0;
        if (!isCut(error) || cuts >= CUTS_MAX) throw remoteError(error, file.url);
      }
    }
  }

  /** No operation is under way any more. */
  async close(): Promise<void> {
    this.#http.close();
    await this.#s3.close();
  }

  /** The answer to a request for a range of a file that is the one that was described. */
  async #begin(file: InspectedFile | RemoteFile, from: number, to: number, call: VolumeCall): Promise<RemoteAnswer> {
    for (let tried = 1; ; tried++) {
      const answer = await this.#get(file, from, to, call);
      const state = stateOf(answer.version);
      if (answer.version.bytes !== file.bytes) {
        answer.body.destroy();
        throw changedFile(file.url, `it is ${answer.version.bytes} bytes long, not ${file.bytes}`);
      }
      const isDescribed = state === stateOf(file) && (state !== '' || !('sha256' in file));
      if (isDescribed || state === this.#accepted.get(file)) return answer;
      answer.body.destroy();
      if (!('sha256' in file) || tried > 1) throw changedFile(file.url, 'it changes while it is read');
      await this.#compareEnds(file, state, call);
    }
  }

  /** Accepts a state of the file when its beginning and its end are those that were described. */
  async #compareEnds(file: RemoteFile, state: string, call: VolumeCall): Promise<void> {
    const length = Math.min(file.bytes, END_BYTES);
    const digest = new RunningDigest('sha256');
    for (const offset of [0, file.bytes - length]) {
      const { version, bytes } = await this.#short(file, offset, offset + length, call);
      if (version.bytes !== file.bytes || stateOf(version) !== state)
        throw changedFile(file.url, 'it changes while it is read');
      digest.update(bytes);
    }
    if (toHex(digest.finish().bytes) !== file.sha256)
      throw changedFile(file.url, 'its beginning or its end has other bytes');
    this.#accepted.set(file, state);
  }

  /** The bytes of a short range of any version of the file. A cut answer is requested again. */
  async #short(
    place: RemotePlace,
    from: number,
    to: number,
    call: VolumeCall,
  ): Promise<{ version: RemoteVersion; bytes: Uint8Array }> {
    for (let cuts = 0; ; cuts++) {
      const { version, body } = await this.#get(place, from, to, call);
      using heard = new HeardBody(body, call);
      try {
        const pieces: Uint8Array[] = [];
        let length = 0;
        for (let piece = await heard.next(); piece && length <= to - from; piece = await heard.next()) {
          length += piece.length;
          pieces.push(new Uint8Array(piece));
        }
        const bytes = concat(pieces);
        if (bytes.length === Math.min(to, version.bytes) - from) return { version, bytes };
        throw endedEarly();
      } catch (error) {
        call.signal?.throwIfAborted();
        if (!isCut(error) || cuts >= CUTS_MAX) throw remoteError(error, place.url);
      }
    }
  }

  async #get(place: RemotePlace, from: number, to: number, call: VolumeCall): Promise<RemoteAnswer> {
    const { url } = place;
    try {
      if (/^s3:/.test(url)) return await this.#s3.get(place, from, to, call);
      const settings = { random: this.#random, sleep: sleepReally, onFailure: () => {}, onRetry: () => {} };
      // An error with a code is an answer of the server, which the same request would get again.
      const answer = await withRetries(READ_POLICY, settings, call.signal, (signal) =>
        this.#http.get(url, from, to, signal).catch((error: unknown) => {
          if (error instanceof PinakesError) return error;
          throw error;
        }),
      );
      if (answer instanceof PinakesError) throw answer;
      return answer;
    } catch (error) {
      call.signal?.throwIfAborted();
      if (statusOf(error) === 416) throw changedFile(url, `it is not longer than ${from} bytes`);
      throw remoteError(error, url);
    }
  }

  /** Of one server: the requests that run at the same time. */
  #limitOf({ url, endpoint = '' }: RemotePlace): RequestLimit {
    const server = /^s3:/.test(url) ? `s3 ${endpoint}` : new URL(url).origin;
    const known = this.#limits.get(server) ?? new RequestLimit(READS_AT_ONCE);
    this.#limits.set(server, known);
    return known;
  }

  async #naming<T>({ url }: RemotePlace, call: VolumeCall, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      call.signal?.throwIfAborted();
      throw remoteError(error, url);
    }
  }
}

function endedEarly(): Error {
  return Object.assign(new Error('the answer ended early'), { code: 'ECONNRESET' });
}

/** Whether the connection was cut in the body of an answer. Requests without an answer were repeated already. */
function isCut(error: unknown): boolean {
  if (error instanceof PinakesError || (error as { code?: unknown }).code === 'ETIMEDOUT') return false;
  return failureOf(error).kind === 'transient';
}

/** What distinguishes this state of a file from others of the same length. Empty when the server does not say it. */
function stateOf({ etag, lastModified }: RemoteVersion): string {
  return etag ?? lastModified ?? '';
}
