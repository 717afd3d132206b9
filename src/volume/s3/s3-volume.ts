/**
 * A volume in a bucket of S3. See part-volume.ts for its rules.
 *
 * - A PUT carries all bytes or is refused: its length and checksums are sent before the body, and a multipart upload
 *   appears when it is completed.
 * - Requests that may be repeated are repeated (retries.ts). What still fails is retryable, and its outcome is unknown.
 * - Names of other programs that are not names of objects are not listed.
 */
import { assert, concat, PinakesError } from '../../base/index.ts';
import { assertObjectName, assertOffset, assertPrefix, isObjectName } from '../object-name.ts';
import type { ConditionalVolume, TaggedObject, VolumeCall } from '../part-volume.ts';
import type { ObjectInfo, ReadRange } from '../volume.ts';
import { whereIn } from '../volume-error.ts';
import { putIfAbsent, putIfTag, readTagged } from './conditional-object.ts';
import { bytesOf, copyPlan, type PlannedPart, uploadPlan } from './join-plan.ts';
import { joinedRanges } from './joined-ranges.ts';
import { type UploadedPart, uploadParts } from './multipart-upload.ts';
import { objectBytes } from './object-stream.ts';
import type { RequestCounts } from './request-counts.ts';
import { forEachLimited, RequestLimit } from './request-limit.ts';
import { hasFailedWith, S3Connection, type S3Options } from './s3-connection.ts';
import { decodeKey } from './s3-key.ts';
import { keyError } from './s3-key-error.ts';
import { type BucketTraits, probeBucket } from './s3-probe.ts';
import {
  abortUpload,
  listUploads,
  listVersions,
  type ObjectVersion,
  removeVersions,
  type UnfinishedUpload,
} from './s3-versions.ts';

export type S3VolumeOptions = S3Options & {
  readonly writable?: boolean | undefined;
  /** Ends the opening of the volume. */
  readonly signal?: AbortSignal | undefined;
};

const MIB = 1024 * 1024;
/** Larger objects are put in parts. */
const PUT_BYTES_MAX = 64 * MIB;
const PUT_PART_BYTES = 16 * MIB;
/** Joined objects up to this size are read and put. */
const JOIN_BY_PUT_BYTES_MAX = 8 * MIB;
const READS_AT_ONCE = 32;
const REMOVED_ONE_BY_ONE_AT_ONCE = 16;
const REMOVED_AT_ONCE = 1_000;
const REMOVALS_AT_ONCE = 4;

/** Opens the volume and lists its bucket once, which finds a wrong address, key or bucket. */
export async function openS3Volume(name: string, url: string, options: S3VolumeOptions): Promise<S3Volume> {
  const connection = await S3Connection.open(name, url, options);
  try {
    await connection.check({ signal: options.signal });
  } catch (error) {
    await connection.close();
    throw error;
  }
  return new S3Volume(connection, options.writable ?? false);
}

export class S3Volume implements ConditionalVolume {
  readonly name: string;
  readonly writable: boolean;
  readonly #connection: S3Connection;
  readonly #reading = new RequestLimit(READS_AT_ONCE);
  /** False when the server has refused to copy parts, or to join copied parts. */
  #copiesParts = true;
  #removesMany = true;

  constructor(connection: S3Connection, writable: boolean) {
    this.name = connection.volume;
    this.writable = writable;
    this.#connection = connection;
  }

  async *list(prefix = '', call: VolumeCall = {}): AsyncGenerator<ObjectInfo[]> {
    assertPrefix(prefix);
    const { sdk, bucket } = this.#connection;
    let last = '';
    let token: string | undefined;
    do {
      this.#connection.assertOpen();
      const command = new sdk.ListObjectsV2Command({
        Bucket: bucket,
        Prefix: this.#connection.key(prefix),
        EncodingType: 'url',
        ContinuationToken: token,
        MaxKeys: this.#connection.pageNames,
      });
      const page = await this.#connection.read(
        'list',
        undefined,
        (client, abortSignal) => client.send(command, { abortSignal }),
        call,
      );
      const infos: ObjectInfo[] = [];
      for (const { Key = '', Size = 0 } of page.Contents ?? []) {
        const name = this.#connection.nameOf(page.EncodingType === 'url' ? decodeKey(Key) : Key);
        if (name === undefined || !isObjectName(name)) continue;
        // A server that repeats pages would be listed for ever.
        if (name <= last) throw this.#refused(undefined, 'the server lists objects out of order');
        last = name;
        infos.push({ name, bytes: Size, sealed: true });
      }
      if (infos.length > 0) yield infos;
      const next = page.IsTruncated ? page.NextContinuationToken : undefined;
      if (next !== undefined && next === token) throw this.#refused(undefined, 'the server repeats a page of its list');
      token = next;
    } while (token !== undefined);
  }

  stat(names: readonly string[], call: VolumeCall = {}): Promise<(ObjectInfo | undefined)[]> {
    names.forEach(assertObjectName);
    return this.#connection.during(() => Promise.all(names.map((name) => this.#info(name, call))));
  }

  async put(name: string, bytes: readonly Uint8Array[], call: VolumeCall = {}): Promise<void> {
    assertObjectName(name);
    this.#assertWritable(name);
    await this.#connection.during(() => this.#put(name, bytes, call));
  }

  async join(name: string, ranges: readonly ReadRange[], call: VolumeCall = {}): Promise<void> {
    assertObjectName(name);
    ranges.forEach(assertRange);
    this.#assertWritable(name);
    await this.#connection.during(() => this.#join(name, ranges, call));
  }

  async remove(names: readonly string[], call: VolumeCall = {}): Promise<void> {
    names.forEach(assertObjectName);
    this.#assertWritable(names[0]);
    const batches: string[][] = [];
    for (let at = 0; at < names.length; at += REMOVED_AT_ONCE) batches.push(names.slice(at, at + REMOVED_AT_ONCE));
    await this.#connection.during(() =>
      forEachLimited(batches, REMOVALS_AT_ONCE, (batch) => this.#removeBatch(batch, call)),
    );
  }

  async read(ranges: readonly ReadRange[], call: VolumeCall = {}): Promise<Uint8Array[]> {
    ranges.forEach(assertRange);
    return await this.#connection.during(() => this.#read(ranges, call));
  }

  async *stream(
    name: string,
    from = 0,
    to = Number.POSITIVE_INFINITY,
    call: VolumeCall = {},
  ): AsyncGenerator<Uint8Array> {
    assertObjectName(name);
    assertOffset(from, 'the offset');
    this.#connection.assertOpen();
    if (from < to) yield* objectBytes(this.#connection, name, from, to, call);
    else await this.#existing(name, call);
  }

  /** The bytes of a small object and the tag of this version of it; undefined when it is missing. */
  async readTagged(name: string, call: VolumeCall = {}): Promise<TaggedObject | undefined> {
    assertObjectName(name);
    return await this.#connection.during(() => readTagged(this.#connection, name, call));
  }

  /** Creates a small object. Returns its tag; undefined when an object with other bytes exists. */
  async putIfAbsent(name: string, bytes: Uint8Array, call: VolumeCall = {}): Promise<string | undefined> {
    assertObjectName(name);
    this.#assertWritable(name);
    return await this.#connection.during(() => putIfAbsent(this.#connection, name, bytes, call));
  }

  /** Replaces the version of a small object that has this tag. Returns the new tag; undefined at another tag. */
  async putIfTag(name: string, tag: string, bytes: Uint8Array, call: VolumeCall = {}): Promise<string | undefined> {
    assertObjectName(name);
    this.#assertWritable(name);
    return await this.#connection.during(() => putIfTag(this.#connection, name, tag, bytes, call));
  }

  /** Finds out what conditions are worth here, whether removed bytes are kept, and how far the clocks are apart. */
  async probe(call: VolumeCall = {}): Promise<BucketTraits> {
    this.#assertWritable();
    return await this.#connection.during(() => probeBucket(this.#connection, call));
  }

  /** Multipart uploads that were begun and neither completed nor aborted, in pages. */
  unfinishedUploads(prefix = '', call: VolumeCall = {}): AsyncIterable<UnfinishedUpload[]> {
    return listUploads(this.#connection, prefix, call);
  }

  async abortUpload(upload: Pick<UnfinishedUpload, 'name' | 'id'>, call: VolumeCall = {}): Promise<void> {
    this.#assertWritable(upload.name);
    await this.#connection.during(() => abortUpload(this.#connection, upload, call));
  }

  /**
   * All versions of objects that the bucket keeps, those of removed objects and markers of removals included. Versions
   * are removed after the whole list was read, since pages refer to versions.
   */
  versions(prefix = '', call: VolumeCall = {}): AsyncIterable<ObjectVersion[]> {
    return listVersions(this.#connection, prefix, call);
  }

  /** The bytes of one version, also of an object that was removed. */
  streamVersion(
    { name, versionId }: Pick<ObjectVersion, 'name' | 'versionId'>,
    call: VolumeCall = {},
  ): AsyncIterable<Uint8Array> {
    this.#connection.assertOpen();
    return objectBytes(this.#connection, name, 0, Number.POSITIVE_INFINITY, call, versionId);
  }

  async removeVersions(
    versions: readonly Pick<ObjectVersion, 'name' | 'versionId'>[],
    call: VolumeCall = {},
  ): Promise<void> {
    this.#assertWritable();
    await this.#connection.during(() => removeVersions(this.#connection, versions, call));
  }

  counts(): RequestCounts {
    return this.#connection.counter.counts();
  }

  async close(): Promise<void> {
    await this.#connection.close();
  }

  async #info(name: string, call: VolumeCall): Promise<ObjectInfo | undefined> {
    const command = new this.#connection.sdk.HeadObjectCommand(this.#object(name));
    try {
      const { ContentLength } = await this.#connection.read(
        'head',
        name,
        (client, abortSignal) => client.send(command, { abortSignal }),
        call,
      );
      if (ContentLength === undefined) throw this.#refused(name, 'the server does not say its length');
      return { name, bytes: ContentLength, sealed: true };
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  async #existing(name: string, call: VolumeCall): Promise<ObjectInfo> {
    const info = await this.#info(name, call);
    if (!info) throw new PinakesError('OBJECT_MISSING', { where: whereIn(this.name, name) });
    return info;
  }

  async #put(name: string, bytes: readonly Uint8Array[], call: VolumeCall): Promise<void> {
    const length = bytes.reduce((sum, piece) => sum + piece.length, 0);
    if (length > PUT_BYTES_MAX) {
      const parts: UploadedPart[] = [];
      for (let at = 0; at < length; at += PUT_PART_BYTES)
        parts.push({
          kind: 'bytes',
          bytes: Math.min(PUT_PART_BYTES, length - at),
          read: async () => concat(sliceOf(bytes, at, at + PUT_PART_BYTES)),
        });
      await this.#upload(name, length, parts, call);
      return;
    }
    const body = bytes.length === 1 ? bytes[0]! : concat(bytes);
    const command = new this.#connection.sdk.PutObjectCommand({
      ...this.#object(name),
      Body: body,
      ContentLength: length,
    });
    await this.#connection.write(
      'put',
      name,
      (client, abortSignal) => {
        this.#connection.counter.wrote(length);
        return client.send(command, { abortSignal });
      },
      call,
    );
  }

  async #join(name: string, ranges: readonly ReadRange[], call: VolumeCall): Promise<void> {
    const bytes = bytesOf(ranges);
    // Another process may have joined the same ranges already.
    if ((await this.#info(name, call))?.bytes === bytes) return;
    if (bytes <= JOIN_BY_PUT_BYTES_MAX) {
      await this.#put(name, [await this.#gathered(name, ranges, call)], call);
      return;
    }
    const wanted = ranges.filter(({ length }) => length > 0);
    const copied = copyPlan(wanted);
    const send = (plan: readonly PlannedPart[]) =>
      this.#upload(
        name,
        bytes,
        plan.map((part) =>
          part.kind === 'copy'
            ? { kind: 'copy', range: part.ranges[0]! }
            : { kind: 'bytes', bytes: bytesOf(part.ranges), read: () => this.#gathered(name, part.ranges, call) },
        ),
        call,
      );
    if (this.#copiesParts && copied.length <= 10_000 && copied.some(({ kind }) => kind === 'copy')) {
      try {
        await send(copied);
        return;
      } catch (error) {
        if (!(error instanceof PinakesError) || error.code !== 'VOLUME_REFUSED') throw error;
        this.#copiesParts = false;
      }
    }
    await send(uploadPlan(wanted));
  }

  /** A multipart upload whose completion had no answer counts when the object is there. */
  async #upload(name: string, bytes: number, parts: readonly UploadedPart[], call: VolumeCall): Promise<void> {
    let failure: unknown;
    try {
      await uploadParts(this.#connection, name, parts, call);
    } catch (error) {
      if (!(error instanceof PinakesError) || !hasFailedWith(error.cause, 'NoSuchUpload')) throw error;
      failure = error;
    }
    const info = await this.#info(name, call);
    if (info?.bytes === bytes) return;
    if (failure !== undefined) throw failure;
    if (info) await this.#removeOne(name, call);
    throw this.#refused(name, `the server joined ${info?.bytes ?? 0} bytes of ${bytes}`);
  }

  async #gathered(name: string, ranges: readonly ReadRange[], call: VolumeCall): Promise<Uint8Array> {
    const pieces = await this.#read(ranges, call);
    const short = ranges.find(({ length }, index) => pieces[index]!.length !== length);
    if (short)
      throw new PinakesError('OBJECT_MOVED', {
        where: whereIn(this.name, short.name),
        detail: `it is too short to be joined into ${name}`,
      });
    return pieces.length === 1 ? pieces[0]! : concat(pieces);
  }

  async #read(ranges: readonly ReadRange[], call: VolumeCall): Promise<Uint8Array[]> {
    const results: Uint8Array[] = new Array(ranges.length);
    await Promise.all(
      joinedRanges(ranges).map(({ name, offset, end, wanted }) =>
        this.#reading.run(async () => {
          if (offset === end) await this.#existing(name, call);
          const pieces: Uint8Array[] = [];
          if (offset < end)
            for await (const piece of objectBytes(this.#connection, name, offset, end, call)) pieces.push(piece);
          const bytes = pieces.length === 1 ? new Uint8Array(pieces[0]!) : concat(pieces);
          for (const index of wanted) {
            const { offset: from, length } = ranges[index]!;
            results[index] = wanted.length === 1 ? bytes : bytes.slice(from - offset, from - offset + length);
          }
        }, call.signal),
      ),
    );
    return results;
  }

  async #removeBatch(names: readonly string[], call: VolumeCall): Promise<void> {
    if (names.length > 1 && this.#removesMany) {
      const { sdk, bucket } = this.#connection;
      const command = new sdk.DeleteObjectsCommand({
        Bucket: bucket,
        Delete: { Quiet: true, Objects: names.map((name) => ({ Key: this.#connection.key(name) })) },
      });
      try {
        await this.#connection.write(
          'delete',
          names[0],
          async (client, abortSignal) => {
            const { Errors = [] } = await client.send(command, { abortSignal });
            const failed = Errors.find(({ Code }) => Code !== 'NoSuchKey');
            if (failed) throw keyError(failed, Errors.length);
          },
          call,
        );
        return;
      } catch (error) {
        if (!(error instanceof PinakesError) || error.code !== 'VOLUME_REFUSED') throw error;
        this.#removesMany = false;
      }
    }
    await forEachLimited(names, REMOVED_ONE_BY_ONE_AT_ONCE, (name) => this.#removeOne(name, call));
  }

  async #removeOne(name: string, call: VolumeCall): Promise<void> {
    const command = new this.#connection.sdk.DeleteObjectCommand(this.#object(name));
    try {
      await this.#connection.write(
        'delete',
        name,
        (client, abortSignal) => client.send(command, { abortSignal }),
        call,
      );
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }

  #object(name: string): { Bucket: string; Key: string } {
    return { Bucket: this.#connection.bucket, Key: this.#connection.key(name) };
  }

  #assertWritable(object?: string): void {
    this.#connection.assertOpen();
    if (!this.writable) throw new PinakesError('VOLUME_READ_ONLY', { where: whereIn(this.name, object) });
  }

  #refused(object: string | undefined, detail: string): PinakesError {
    return new PinakesError('VOLUME_REFUSED', { where: whereIn(this.name, object), detail });
  }
}

/** The pieces of a list of buffers between two places, without a copy. */
function sliceOf(pieces: readonly Uint8Array[], from: number, to: number): Uint8Array[] {
  const slices: Uint8Array[] = [];
  let at = 0;
  for (const piece of pieces) {
    const slice = piece.subarray(Math.max(0, from - at), Math.max(0, to - at));
    if (slice.length > 0) slices.push(slice);
    at += piece.length;
  }
  return slices;
}

function isMissing(error: unknown): boolean {
  return error instanceof PinakesError && error.code === 'OBJECT_MISSING';
}

function assertRange({ name, offset, length }: ReadRange): void {
  assertObjectName(name);
  assertOffset(offset, 'the offset');
  assertOffset(length, 'the length');
  assert(Number.isSafeInteger(offset + length), 'a range ends within what numbers can count');
}
