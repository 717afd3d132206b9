/**
 * Stores contents and captures in a served archive, and reads contents of it. A content that the archive has is not
 * sent: only its digest is.
 *
 * ```ts
 *   const client = new ContentsClient('https://archive.example.org', { token });
 *   const captures = pages.map(({ url, head, bytes }) => ({ url, head, content: bytes }));
 *   await client.store(captures, { id: crypto.randomUUID(), time: new Date(), collection: 'news' });
 * ```
 * What `store` has returned is durable. When it fails or its process dies, the same captures can be stored again with
 * the same `id` and times: what has arrived is recognised, and nothing is stored twice.
 */
import { RequestRefusedError, type ServerRequestOptions, ServerRequests } from './server-request.ts';

export type ContentsClientOptions = ServerRequestOptions & {
  /** How many contents are sent at one time. */
  readonly concurrency?: number;
};

/** A content that is not in memory. */
export type ContentSource = {
  /** SHA-256 in hexadecimal. */
  readonly digest: string;
  readonly size: number;
  /** The bytes from one offset up to another. */
  readonly read: (from: number, to: number) => Promise<Uint8Array>;
};

export type CaptureToStore = {
  readonly content: Uint8Array | ContentSource;
  /** Names the capture in its batch; without it, its index does. */
  readonly id?: string;
  readonly time?: Date;
  /** Without a URL, the content is stored for itself. */
  readonly url?: string;
  /** Status line and fields of the HTTP response with the empty line. Without it the capture is a resource. */
  readonly head?: string;
  readonly request?: string;
  readonly mime?: string;
  readonly ip?: string;
};

export type StoreBatchOptions = {
  /** An id of the caller's own, the same whenever these captures are stored again. */
  readonly id: string;
  /** The time of captures that do not have one. */
  readonly time?: Date;
  readonly collection?: string;
};

export type StoreBatchOutcome = {
  readonly stored: number;
  /** Captures that the archive had from an earlier try. */
  readonly known: number;
  /** Indexes of captures that were stored by an earlier try and deleted since. */
  readonly deleted: readonly number[];
  readonly refused: readonly { readonly index: number; readonly code: string; readonly message: string }[];
  /** The keys of the contents; empty for captures that were not stored. */
  readonly keys: readonly string[];
};

export type RecordsReport = Readonly<Record<string, number>>;

/** The reply to a batch of records: contents that are missing, or what was added. */
export type RecordsReply = { readonly missing: readonly number[]; readonly report?: RecordsReport };

/** The most digests or captures in one request. */
const BATCH_MAX = 1000;
/** A batch ends when its heads have this many characters. */
const BATCH_CHARACTERS_MAX = 1024 * 1024;
/** A larger content is sent in pieces, uncompressed, so that the next process can continue it. */
const PIECE_BYTES = 8 * 1024 * 1024;
const COMPRESSED_BYTES_MIN = 512;
const CONCURRENCY = 4;
/** How often missing contents are sent. A content can be deleted after it was held. */
const ROUNDS_MAX = 4;

type Item = { readonly index: number; readonly capture: CaptureToStore; readonly source: ContentSource };

type Outcome = Omit<StoreBatchOutcome, 'keys'> & { readonly missing: readonly number[]; readonly keys: string[] };

export class ContentsClient {
  readonly #requests: ServerRequests;
  readonly #concurrency: number;

  constructor(origin: string, options: ContentsClientOptions = {}) {
    this.#requests = new ServerRequests(origin, options);
    this.#concurrency = options.concurrency ?? CONCURRENCY;
  }

  /** Stores captures, and sends the contents that are missing. Returns when everything is durable. */
  async store(captures: readonly CaptureToStore[], options: StoreBatchOptions): Promise<StoreBatchOutcome> {
    const items: Item[] = [];
    for (const [index, capture] of captures.entries())
      items.push({ index, capture, source: await sourceOf(capture.content) });
    const total = { stored: 0, known: 0, deleted: [] as number[], refused: [] as Outcome['refused'][number][] };
    const keys = captures.map(() => '');
    for (const batch of batchesOf(items)) {
      let left = batch;
      for (let round = 1; left.length > 0; round++) {
        const outcome = await this.#post(left, options);
        total.stored += outcome.stored;
        total.known += outcome.known;
        total.deleted.push(...outcome.deleted.map((at) => left[at]!.index));
        total.refused.push(...outcome.refused.map((one) => ({ ...one, index: left[one.index]!.index })));
        for (const [at, key] of outcome.keys.entries()) keys[left[at]!.index] = key;
        left = outcome.missing.map((at) => left[at]!);
        if (left.length > 0 && round === ROUNDS_MAX)
          throw new Error(`the server lacks ${left.length} contents although they were sent`);
        await this.#sendAll(left.map(({ source }) => source));
      }
    }
    return { ...total, keys };
  }

  /** Which of these contents, by their SHA-256 in hexadecimal, the client would have to send. */
  async missing(digests: readonly string[]): Promise<string[]> {
    const found: string[] = [];
    for (let from = 0; from < digests.length; from += BATCH_MAX) {
      const asked = digests.slice(from, from + BATCH_MAX);
      const { missing } = await this.#requests.json<{ missing: number[] }>({
        method: 'POST',
        path: '/api/contents/missing',
        ...(await jsonBody({ digests: asked })),
      });
      found.push(...missing.map((at) => asked[at]!));
    }
    return found;
  }

  /** Sends a content. A capture has to refer to it within a day. */
  async send(content: Uint8Array | ContentSource): Promise<void> {
    const source = await sourceOf(content);
    if (source.size <= PIECE_BYTES) await this.#sendWhole(source);
    else await this.#sendPieces(source);
  }

  /** The size of a content; undefined when the client may not learn of it or the archive does not have it. */
  async size(key: string): Promise<number | undefined> {
    const response = await this.#requests.open({ method: 'HEAD', path: pathOf(key) });
    return response && Number(response.headers.get('content-length'));
  }

  /** The bytes of a content, by its key or digest; undefined as with `size`. The server has compared the digest. */
  async get(key: string): Promise<ReadableStream<Uint8Array> | undefined> {
    const response = await this.#requests.open({ method: 'GET', path: pathOf(key) });
    return response?.body ?? undefined;
  }

  /** Gives back one reference. `request` is the same when this is asked again. Returns how many captures went. */
  async release(key: string, request: string): Promise<number> {
    const { captures } = await this.#requests.json<{ captures: number }>({
      method: 'DELETE',
      path: pathOf(key),
      query: { request },
    });
    return captures;
  }

  /** Adds records of a file; docs/contents.md describes the frames. */
  async addRecords(
    frames: Uint8Array,
    options: { collection?: string; extension?: string } = {},
  ): Promise<RecordsReply> {
    return this.#requests.json({
      method: 'POST',
      path: '/api/contents/records',
      query: options,
      ...(await compressedBody(frames, 'application/x-pinakes-frames')),
    });
  }

  async #post(items: readonly Item[], { id, time, collection }: StoreBatchOptions): Promise<Outcome> {
    const captures = items.map(({ index, source, capture }) => {
      const { content: _, time: own, ...rest } = capture;
      return {
        digest: source.digest,
        ...rest,
        id: capture.id ?? String(index),
        ...(own && { time: own.toISOString() }),
      };
    });
    const batch = { id, collection, time: time?.toISOString(), keys: true, captures };
    return this.#requests.json({ method: 'POST', path: '/api/contents/captures', ...(await jsonBody(batch)) });
  }

  async #sendAll(sources: readonly ContentSource[]): Promise<void> {
    const waiting = [...new Map(sources.map((source) => [source.digest, source])).values()];
    const sendNext = async () => {
      for (let source = waiting.shift(); source; source = waiting.shift()) await this.send(source);
    };
    await Promise.all(Array.from({ length: this.#concurrency }, sendNext));
  }

  async #sendWhole({ digest, size, read }: ContentSource): Promise<void> {
    const { body, fields } = await compressedBody(await read(0, size), 'application/octet-stream');
    await this.#requests.json({
      method: 'PUT',
      path: `/api/contents/${digest}`,
      query: { size, bytes: body.length },
      fields,
      body,
    });
  }

  async #sendPieces({ digest, size, read }: ContentSource): Promise<void> {
    for (let failures = 0, before = 0; ; ) {
      const { received } = await this.#requests.json<{ received?: number }>({
        method: 'GET',
        path: `/api/contents/${digest}/upload`,
      });
      if (received === undefined) return;
      if (received > before) failures = 0;
      before = received;
      try {
        await this.#continue(digest, size, received, read);
        return;
      } catch (error) {
        // After a lost answer the server has more than this client knows of. Wrong bytes are sent from the beginning.
        const isPassing = error instanceof RequestRefusedError && (error.status === 409 || error.status === 422);
        if (!isPassing || ++failures === ROUNDS_MAX) throw error;
      }
    }
  }

  async #continue(digest: string, size: number, from: number, read: ContentSource['read']): Promise<void> {
    for (let offset = from; ; ) {
      const end = Math.min(size, offset + PIECE_BYTES);
      const { received } = await this.#requests.json<{ received?: number }>({
        method: 'PUT',
        path: `/api/contents/${digest}`,
        query: { size, offset },
        fields: { 'content-type': 'application/octet-stream' },
        body: await read(offset, end),
      });
      if (received === undefined) return;
      offset = received;
    }
  }
}

function* batchesOf(items: readonly Item[]): Generator<Item[]> {
  let batch: Item[] = [];
  let characters = 0;
  for (const item of items) {
    const { url = '', head = '', request = '' } = item.capture;
    const own = url.length + head.length + request.length;
    if (batch.length === BATCH_MAX || (batch.length > 0 && characters + own > BATCH_CHARACTERS_MAX)) {
      yield batch;
      batch = [];
      characters = 0;
    }
    batch.push(item);
    characters += own;
  }
  if (batch.length > 0) yield batch;
}

async function sourceOf(content: Uint8Array | ContentSource): Promise<ContentSource> {
  if (!(content instanceof Uint8Array)) return content;
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', content as Uint8Array<ArrayBuffer>));
  return {
    digest: Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join(''),
    size: content.length,
    read: async (from, to) => content.subarray(from, to),
  };
}

function jsonBody(value: unknown): ReturnType<typeof compressedBody> {
  return compressedBody(new TextEncoder().encode(JSON.stringify(value)), 'application/json');
}

/** The body as it is sent: compressed when that makes it smaller. */
async function compressedBody(
  bytes: Uint8Array,
  type: string,
): Promise<{ readonly body: Uint8Array; readonly fields: Record<string, string> }> {
  const fields = { 'content-type': type };
  if (bytes.length < COMPRESSED_BYTES_MIN) return { body: bytes, fields };
  const compressed = new Response(
    new Blob([bytes as Uint8Array<ArrayBuffer>]).stream().pipeThrough(new CompressionStream('gzip')),
  );
  const body = new Uint8Array(await compressed.arrayBuffer());
  if (body.length >= bytes.length) return { body: bytes, fields };
  return { body, fields: { ...fields, 'content-encoding': 'gzip' } };
}

function pathOf(key: string): string {
  return `/api/contents/${encodeURIComponent(key)}`;
}
