/**
 * Stores batches of captures that refer to contents by their digests. A content is held by the archive, as far as the
 * client may learn of it, or the client has sent it before. A capture whose content is neither is answered as missing;
 * the client sends the bytes, and asks again with the same ids.
 *
 * Nothing in an answer, and nothing that is done for it, depends on contents that the client may not learn of: their
 * captures get full records, as those of new contents do.
 */
import {
  type Archive,
  type NotedCapture,
  type ReadableCollections,
  type Stored,
  type StoreInput,
  soundPayload,
} from '../../archive/index.ts';
import { type EpochMs, fromHex, PinakesError } from '../../base/index.ts';
import { problemFromError } from '../http/problem.ts';
import type { Access } from '../tokens/access.ts';
import type { TokenStore } from '../tokens/token-store.ts';
import { chargeTo, ownerOf, readableBy } from './content-access.ts';
import type { StagedContents } from './staged-contents.ts';

export type CaptureItem = {
  /** The digest of the content, in hexadecimal. */
  readonly digest: string;
  /** The client's name of the capture in its batch. */
  readonly id: string;
  readonly time: EpochMs;
  /** Without a URL the content is stored for itself. */
  readonly url?: string | undefined;
  /** The HTTP head. With it the capture is a response, without it a resource. */
  readonly head?: Uint8Array | undefined;
  readonly request?: Uint8Array | undefined;
  readonly mime?: string | undefined;
  readonly ip?: string | undefined;
};

export type CaptureBatch = {
  readonly collection: string;
  readonly items: readonly CaptureItem[];
};

/** What became of each capture, by its index in the batch. */
export type BatchOutcome = {
  readonly stored: number;
  /** The archive had the capture: the batch was asked before. */
  readonly known: number;
  readonly missing: number[];
  readonly deleted: number[];
  readonly refused: { readonly index: number; readonly code: string; readonly message: string }[];
  /** The keys of the contents, in the order of the batch; empty for those without one. */
  readonly keys: string[];
};

type Services = { readonly archive: Archive; readonly staged: StagedContents; readonly tokens: TokenStore };

type Result = Stored | 'missing' | PinakesError;

/** Bytes that a capture counts besides its content. */
const RECORD_BYTES = 512;

export async function storeCaptures(
  services: Services,
  access: Access,
  { collection, items }: CaptureBatch,
): Promise<BatchOutcome> {
  const { archive, staged, tokens } = services;
  const owner = ownerOf(access);
  const store = new ItemStore(services, { collection, owner, isLimited: access.collections !== undefined });
  await store.lookUp(items, await readableBy(archive, access));
  const bytes = items.map((item) => store.bytesOf(item));
  const charged = bytes.reduce<number>((sum, one) => sum + (one ?? 0), 0);
  await chargeTo(tokens, access, charged);
  const results: Result[] = [];
  try {
    // The first capture of a sent content makes it one that the others refer to.
    const [firsts, others] = split(items);
    for (const part of [firsts, others]) {
      // The first store of a collection has made the collection.
      if (part === others && others.length > 0)
        await store.lookUp(
          others.map((index) => items[index]!),
          await readableBy(archive, access),
        );
      const stored = await Promise.all(part.map((index) => store.store(items[index]!)));
      for (const [at, index] of part.entries()) results[index] = stored[at]!;
    }
    await store.note(results);
  } finally {
    const kept = results.map((result, index) => (isStored(result) && !result.known ? (bytes[index] ?? 0) : 0));
    const unused = charged - kept.reduce((sum, one) => sum + one, 0);
    if (unused > 0 && access.token) await tokens.charge(access.token, -unused);
  }
  const digests = new Set(items.map(({ digest }) => digest));
  for (const [index, { digest }] of items.entries()) if (!isStored(results[index])) digests.delete(digest);
  await Promise.all([...digests].map((digest) => staged.remove(owner, digest)));
  return outcomeOf(results, access);
}

/** The indexes of the first captures of each content, and those of the others. */
function split(items: readonly CaptureItem[]): [number[], number[]] {
  const seen = new Set<string>();
  const parts: [number[], number[]] = [[], []];
  for (const [index, { digest }] of items.entries()) {
    parts[seen.has(digest) ? 1 : 0].push(index);
    seen.add(digest);
  }
  return parts;
}

function outcomeOf(results: readonly Result[], access: Access): BatchOutcome {
  const outcome = { stored: 0, known: 0, missing: [], deleted: [], refused: [], keys: [] } as {
    -readonly [Name in keyof BatchOutcome]: BatchOutcome[Name];
  };
  for (const [index, result] of results.entries()) {
    // The volume of a content that another collection holds would tell that it is held.
    const key = isStored(result) ? result.key : '';
    outcome.keys.push(access.collections ? key.replace(/^[^:]*:(?=sha256:)/, '') : key);
    if (result === 'missing') outcome.missing.push(index);
    else if (result instanceof PinakesError) {
      const { code, message } = problemFromError(result).problem;
      outcome.refused.push({ index, code, message });
    } else if (result.known === 'deleted') outcome.deleted.push(index);
    else if (result.known) outcome.known++;
    else outcome.stored++;
  }
  return outcome;
}

type ItemStoreOptions = {
  readonly collection: string;
  readonly owner: string;
  readonly isLimited: boolean;
};

class ItemStore {
  readonly #services: Services;
  readonly #options: ItemStoreOptions;
  /** Sizes of contents that the client may refer to. */
  readonly #held = new Map<string, number>();

  constructor(services: Services, options: ItemStoreOptions) {
    this.#services = services;
    this.#options = options;
  }

  async lookUp(items: readonly CaptureItem[], readable: ReadableCollections): Promise<void> {
    const digests = [...new Set(items.map(({ digest }) => digest))];
    const keys = digests.map((digest) => ({ digest: fromHex(digest)!, overflow: 0 }));
    const blocks = await this.#services.archive.held.find(keys, readable);
    for (const [index, block] of blocks.entries()) if (block) this.#held.set(digests[index]!, block.size);
  }

  /** What a capture counts against a quota. Undefined when its content is missing. */
  bytesOf({ digest, head, request }: CaptureItem): number | undefined {
    const own = RECORD_BYTES + (head?.length ?? 0) + (request?.length ?? 0);
    if (this.#held.has(digest)) return own;
    const size = this.#services.staged.size(this.#options.owner, digest);
    return size === undefined ? undefined : own + size;
  }

  async store(item: CaptureItem): Promise<Result> {
    const { archive, staged } = this.#services;
    const { owner, isLimited } = this.#options;
    const { digest } = item;
    const size = this.#held.get(digest);
    try {
      if (size !== undefined) {
        const held = { digest: fromHex(digest)!, overflow: 0 };
        const referred = await this.#unlessMissing(() => this.#put(item, { held, size }, true));
        if (referred) return referred;
      }
      if (staged.size(owner, digest) !== undefined)
        return await this.#put(item, staged.read(owner, digest), size !== undefined || !isLimited);
      if (size === undefined) return 'missing';
      // The archive has the content, but a revisit of it would not be smaller, or its holder is damaged.
      const content = await this.#unlessMissing(() => archive.content(`sha256:${digest}`, { checksDigest: true }));
      if (!content) return 'missing';
      return await this.#put(item, soundPayload({ ...content, isSound: false, damage: () => content.damage() }), true);
    } catch (error) {
      if (!(error instanceof PinakesError)) throw error;
      // Another request of the same client has stored the content meanwhile. The next try finds it held.
      if (error.code === 'FILE_MISSING') return 'missing';
      if (error.code === 'RECORD_DAMAGED' || error.code === 'CONTENT_MISSING') return 'missing';
      if (error.code === 'CONTENT_BARRED') return error;
      throw error;
    }
  }

  /** Notes the captures of a limited token, which later finds their contents by these notes. */
  async note(results: readonly Result[]): Promise<void> {
    if (!this.#options.isLimited) return;
    const noted = results.flatMap((result): NotedCapture[] => {
      if (!isStored(result) || !result.capture.block) return [];
      const { urlKey, time, hash, collection, block } = result.capture;
      return [{ urlKey, time, hash, collection, digest: block.digest }];
    });
    await this.#services.archive.held.note(noted);
  }

  #put(item: CaptureItem, body: StoreInput['body'], isShareable: boolean): Promise<Stored> {
    const { collection } = this.#options;
    return this.#services.archive.store(inputOf(item, body), { collection, id: item.id, mayWait: true, isShareable });
  }

  async #unlessMissing<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof PinakesError && error.code === 'CONTENT_MISSING') return undefined;
      throw error;
    }
  }
}

function inputOf({ url, time, head, request, mime, ip }: CaptureItem, body: StoreInput['body']): StoreInput {
  const fields = ip === undefined ? [] : [{ name: 'WARC-IP-Address', value: ip }];
  if (url === undefined) return { kind: 'bytes', time, body, ...(mime !== undefined && { mime }) };
  if (head) return { kind: 'http', url, time, responseHead: head, body, fields, ...(request && { request }) };
  return { kind: 'resource', url, time, mime: mime ?? 'application/octet-stream', body, fields };
}

function isStored(result: Result | undefined): result is Stored {
  return typeof result === 'object' && !(result instanceof Error);
}
