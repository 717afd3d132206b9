/**
 * Ranges and lists of objects in buckets, by their keys. Keys of other programs may have characters that names of
 * objects in a volume never have. Connections are made when they are first needed, and shared by all files of a bucket.
 */
import type { Readable } from 'node:stream';
import { assert, type Clock } from '../../base/index.ts';
import type { VolumeCall } from '../part-volume.ts';
import { type S3Client, S3Connection } from '../s3/s3-connection.ts';
import { decodeKey } from '../s3/s3-key.ts';
import { type RemoteAnswer, versionOf, withoutRanges } from './remote-answer.ts';
import { parseRemotePlace, parseS3Key, type RemotePlace } from './remote-place.ts';

export type ListedFile = { readonly place: RemotePlace; readonly bytes: number };

export class S3Ranges {
  readonly #volume: string;
  readonly #clock: Clock | undefined;
  readonly #connections = new Map<string, Promise<S3Connection>>();

  constructor(volume: string, clock: Clock | undefined) {
    this.#volume = volume;
    this.#clock = clock;
  }

  async get(place: RemotePlace, from: number, to: number, call: VolumeCall): Promise<RemoteAnswer> {
    const { bucket, key } = parseS3Key(place.url);
    const connection = await this.#connection(place, bucket);
    const command = new connection.sdk.GetObjectCommand({
      Bucket: bucket,
      Key: key,
      Range: `bytes=${from}-${to - 1}`,
    });
    const answer = await connection.begin(key, (client, abortSignal) => client.send(command, { abortSignal }), call);
    const validators = { etag: answer.ETag, lastModified: answer.LastModified?.toUTCString() };
    const body = answer.Body as Readable;
    try {
      return { version: versionOf(place.url, from, to, answer.ContentRange, validators), body };
    } catch (error) {
      body.destroy();
      throw error;
    }
  }

  /** The objects whose keys begin with that of the place, in pages. */
  async *list(place: RemotePlace, call: VolumeCall): AsyncGenerator<ListedFile[]> {
    const { bucket, key: prefix } = parseS3Key(place.url);
    const connection = await this.#connection(place, bucket);
    let token: string | undefined;
    do {
      const command = new connection.sdk.ListObjectsV2Command({
        Bucket: bucket,
        Prefix: prefix,
        EncodingType: 'url',
        ContinuationToken: token,
      });
      const send = (client: S3Client, abortSignal: AbortSignal) => client.send(command, { abortSignal });
      const page = await connection.read('list', undefined, send, call);
      yield (page.Contents ?? []).flatMap(({ Key = '', Size = 0 }) => {
        const key = page.EncodingType === 'url' ? decodeKey(Key) : Key;
        return key.startsWith(prefix) && key !== ''
          ? [{ place: parseRemotePlace(`s3://${bucket}/${key}`, place), bytes: Size }]
          : [];
      });
      const next = page.IsTruncated ? page.NextContinuationToken : undefined;
      if (next !== undefined && next === token) throw withoutRanges(place.url, 'the server repeats a page of its list');
      token = next;
    } while (token !== undefined);
  }

  async close(): Promise<void> {
    for (const opening of this.#connections.values()) await (await opening.catch(() => undefined))?.close();
  }

  #connection({ endpoint, region }: RemotePlace, bucket: string): Promise<S3Connection> {
    const key = JSON.stringify([endpoint, region, bucket]);
    const known = this.#connections.get(key);
    if (known) return known;
    assert(this.#clock, 'files in buckets are read with a clock');
    const opening = S3Connection.open(this.#volume, `s3://${bucket}`, { clock: this.#clock, endpoint, region });
    this.#connections.set(key, opening);
    return opening;
  }
}
