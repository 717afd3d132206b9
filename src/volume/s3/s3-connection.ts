/**
 * The connection to a bucket: loads the AWS SDK when the first volume on S3 is opened, and sends requests with limits,
 * retries, time-outs and counters.
 *
 * - Credentials come from the SDK's chain: environment, profile files, web identity, the instance. Tests pass them.
 * - Every request that has a body is signed with the SHA-256 of the body and has its Content-MD5. Servers verify one or
 *   both. Newer checksum headers are not sent, since some servers refuse requests that have them.
 * - A connection that is silent is cut. So a request ends in bounded time, whatever the server does.
 */
import { createHash } from 'node:crypto';
import type * as Sdk from '@aws-sdk/client-s3';
import { type CallObserver, type Clock, PinakesError, type Random, seededRandom } from '../../base/index.ts';
import type { VolumeCall } from '../part-volume.ts';
import { closedError, whereIn } from '../volume-error.ts';
import { RequestCounter, type RequestKind } from './request-counts.ts';
import { RequestLimit } from './request-limit.ts';
import { READ_POLICY, type RetrySettings, type Sleep, sleepReally, WRITE_POLICY, withRetries } from './retries.ts';
import { failureOf, s3Error } from './s3-error.ts';
import { parseEndpoint, parseS3Url } from './s3-url.ts';

export type S3Sdk = typeof Sdk;
export type S3Client = Sdk.S3Client;

export type S3Credentials = { readonly accessKeyId: string; readonly secretAccessKey: string };

export type S3Options = {
  readonly clock: Clock;
  /** Watches the requests, each try on its own. */
  readonly observe?: CallObserver | undefined;
  readonly random?: Random | undefined;
  readonly sleep?: Sleep | undefined;
  /** The address of a server that is not AWS. Its buckets are addressed in the path. */
  readonly endpoint?: string | undefined;
  readonly region?: string | undefined;
  /** Default: the SDK's chain. */
  readonly credentials?: S3Credentials | undefined;
  /** Names in a page of a list. Default, and the maximum of servers: 1,000. */
  readonly pageNames?: number | undefined;
};

/** A connection attempt is given up after this time. The first packet that is lost is sent again after a second. */
const CONNECT_MS = 1_800;
/** A connection without any traffic is cut after this time. It is above the time of a slow sync on a server. */
const SILENCE_MS = 30_000;
/** Requests for a volume at the same time. Streams are not counted, because their readers may pause. */
const READS_MAX = 24;
const WRITES_MAX = 8;
const PAGE_NAMES = 1_000;
/** The bucket is there if it was listed less than this time ago. */
const CHECKED_MS = 5_000;

export class S3Connection {
  readonly volume: string;
  readonly bucket: string;
  readonly sdk: S3Sdk;
  readonly clock: Clock;
  readonly random: Random;
  readonly pageNames: number;
  readonly counter = new RequestCounter();
  readonly #prefix: string;
  readonly #observe: CallObserver | undefined;
  readonly #client: S3Client;
  readonly #reads = new RequestLimit(READS_MAX);
  readonly #writes = new RequestLimit(WRITES_MAX);
  readonly #retries: RetrySettings;
  readonly #running = new Set<Promise<unknown>>();
  #isClosed = false;
  #clockSkewMs: number | undefined;
  #checkedAt = Number.NEGATIVE_INFINITY;

  private constructor(volume: string, url: string, sdk: S3Sdk, options: S3Options) {
    const { bucket, prefix } = parseS3Url(url);
    this.volume = volume;
    this.bucket = bucket;
    this.sdk = sdk;
    this.clock = options.clock;
    this.random = options.random ?? seededRandom(options.clock());
    this.pageNames = options.pageNames ?? PAGE_NAMES;
    this.#observe = options.observe;
    this.#prefix = prefix === '' ? '' : `${prefix}/`;
    this.#client = makeClient(sdk, options);
    this.#retries = {
      random: this.random,
      sleep: options.sleep ?? sleepReally,
      onFailure: (error) => this.noteFailure(error),
      onRetry: () => this.counter.retried(),
    };
    this.#observeDates();
  }

  static async open(volume: string, url: string, options: S3Options): Promise<S3Connection> {
    parseS3Url(url);
    return new S3Connection(volume, url, await import('@aws-sdk/client-s3'), options);
  }

  /** How far the server's clock is ahead of this machine's, as of the last answer; 0 within the precision of a date. */
  get clockSkewMs(): number | undefined {
    return this.#clockSkewMs;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  key(name: string): string {
    return this.#prefix + name;
  }

  /** The name of an object below the prefix of the volume. */
  nameOf(key: string): string | undefined {
    return key.startsWith(this.#prefix) ? key.slice(this.#prefix.length) : undefined;
  }

  /** Runs a call on the volume. Closing waits for it. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    this.assertOpen();
    const running = work();
    this.#running.add(running);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
    }
  }

  /** Reads and lists. */
  read<T>(kind: RequestKind, object: string | undefined, send: Send<T>, call: VolumeCall = {}): Promise<T> {
    return this.#run(() => this.#reads.run(() => this.#send(kind, send, call, true), call.signal), object, call);
  }

  /** Writes that may be carried out twice. */
  write<T>(kind: RequestKind, object: string | undefined, send: Send<T>, call: VolumeCall = {}): Promise<T> {
    return this.#run(() => this.#writes.run(() => this.#send(kind, send, call, false), call.signal), object, call);
  }

  /** Begins a stream: a read that does not count for the limit of requests. */
  begin<T>(object: string, send: Send<T>, call: VolumeCall = {}): Promise<T> {
    return this.#run(() => this.#send('get', send, call, true), object, call);
  }

  /** A request that is sent once, and whose failures are those of the SDK. */
  async once<T>(kind: RequestKind, send: Send<T>): Promise<T> {
    return await this.#counted(kind, send, AbortSignal.timeout(WRITE_POLICY.timeMs));
  }

  /** A missing object, a range beyond the end and a condition that does not hold are answers rather than failures. */
  noteFailure(error: unknown, object?: string): void {
    const failed = s3Error(error, this.volume, object);
    if (failed.code !== 'OBJECT_MISSING' && !hasFailedWith(error, 412, 416)) this.counter.failed(failed.message);
  }

  /** Fails when the bucket cannot be listed. */
  async check(call: VolumeCall = {}): Promise<void> {
    const command = new this.sdk.ListObjectsV2Command({
      Bucket: this.bucket,
      // There is nothing below it, usually.
      Prefix: this.key('_pinakes/probe/'),
      MaxKeys: 1,
    });
    await this.read('list', undefined, (client, abortSignal) => client.send(command, { abortSignal }), call);
    this.#checkedAt = this.clock();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled(this.#running);
    this.#client.destroy();
  }

  assertOpen(): void {
    if (this.#isClosed) throw closedError(this.volume);
  }

  async #run<T>(work: () => Promise<T>, object: string | undefined, call: VolumeCall): Promise<T> {
    try {
      return await work();
    } catch (error) {
      call.signal?.throwIfAborted();
      if (failureOf(error).code !== 'OBJECT_MISSING' || hasFailedWith(error, 'NoSuchKey'))
        throw s3Error(error, this.volume, object);
      if (object === undefined) throw new PinakesError('BUCKET_MISSING', { where: whereIn(this.volume), cause: error });
      await this.#confirm(call);
      throw s3Error(error, this.volume, object);
    }
  }

  /**
   * A 404 without the code for a missing object, as every HEAD gets it, is also what a proxy without a server behind it
   * or a missing bucket gives. It counts only when the bucket is there.
   */
  async #confirm(call: VolumeCall): Promise<void> {
    if (this.clock() - this.#checkedAt > CHECKED_MS) await this.check(call);
  }

  #send<T>(kind: RequestKind, send: Send<T>, { signal }: VolumeCall, isRead: boolean): Promise<T> {
    return withRetries(isRead ? READ_POLICY : WRITE_POLICY, this.#retries, signal, (abort) =>
      this.#counted(kind, send, abort),
    );
  }

  async #counted<T>(kind: RequestKind, send: Send<T>, abort: AbortSignal): Promise<T> {
    using _pending = this.counter.begin(kind);
    if (!this.#observe) return await send(this.#client, abort);
    const call = { system: 's3', name: kind, target: this.volume } as const;
    const sent = async () => {
      try {
        return { value: await send(this.#client, abort) };
      } catch (error) {
        return { error };
      }
    };
    const answer = await this.#observe(call, sent, (answered) =>
      'error' in answered ? outcomeOf(answered.error) : 'ok',
    );
    if ('error' in answer) throw answer.error;
    return answer.value;
  }

  /** A date has whole seconds, so it fits when some moment of its second lies within the request. */
  #observeDates(): void {
    this.#client.middlewareStack.add(
      (next) => async (args) => {
        const begun = this.clock();
        const result = await next(args);
        const { headers = {} } = (result.response ?? {}) as { headers?: Record<string, string> };
        const date = Date.parse(headers.date ?? '');
        if (Number.isNaN(date)) return result;
        const ended = this.clock();
        this.#clockSkewMs = date > ended ? date - ended : date + 1000 <= begun ? date + 1000 - begun : 0;
        return result;
      },
      { step: 'deserialize', priority: 'low', name: 'observeDates' },
    );
  }
}

/** The status of an answer. Many are what a caller expects: 404 for a missing object, 412 for a condition. */
function outcomeOf(error: unknown): string {
  const { status } = failureOf(error);
  return status === undefined ? 'failed' : String(status);
}

export type Send<T> = (client: S3Client, abortSignal: AbortSignal) => Promise<T>;

/** Whether a request failed with one of these codes or statuses of the server. */
export function hasFailedWith(error: unknown, ...codes: readonly (string | number)[]): boolean {
  const { name, status } = failureOf(error);
  return codes.includes(name) || (status !== undefined && codes.includes(status));
}

function makeClient(sdk: S3Sdk, { endpoint, region, credentials }: S3Options): S3Client {
  const agent = { keepAlive: true, maxSockets: Number.POSITIVE_INFINITY };
  const server = endpoint === undefined ? undefined : parseEndpoint(endpoint);
  const client = new sdk.S3Client({
    ...(server !== undefined && { endpoint: server, forcePathStyle: true }),
    // Servers other than AWS have one region, and most accept this name for it.
    ...(region !== undefined ? { region } : server !== undefined ? { region: 'us-east-1' } : {}),
    ...(credentials && { credentials }),
    followRegionRedirects: server === undefined,
    maxAttempts: 1,
    // A request that expects a 100 gets a connection of its own.
    expectContinueHeader: false,
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      connectionTimeout: CONNECT_MS,
      socketTimeout: SILENCE_MS,
      httpAgent: agent,
      httpsAgent: agent,
    },
  });
  client.middlewareStack.add(
    (next) => (args) => {
      const request = args.request as { body?: unknown; headers: Record<string, string> };
      if (typeof request.body !== 'string' && !(request.body instanceof Uint8Array)) return next(args);
      for (const header of Object.keys(request.headers))
        if (/^x-amz-(?:checksum|sdk-checksum)-/i.test(header)) delete request.headers[header];
      request.headers['content-md5'] = createHash('md5').update(request.body).digest('base64');
      return next(args);
    },
    // After the SDK's own checksums, which DeleteObjects always has.
    { step: 'build', priority: 'low', name: 'addContentMd5' },
  );
  return client;
}
