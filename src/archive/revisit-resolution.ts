/**
 * Finds the content that a revisit stands for.
 *
 * In this order: the SHA-256 it declares; the capture its Refers-To fields name by URI and date, to the second; any capture whose writer declared the same
 * digest in whatever form; and, for a server's "not modified", the latest earlier capture of the same URL. Declared digests cover different
 * bytes in the wild, so they are compared with each other, as what their writers said, and never taken for digests of our own.
 */
import {
  type Digest,
  digestOf,
  type EpochMs,
  fromLatin1,
  isDigestOfNothing,
  parseDigest,
  parseW3cDate,
  utf8,
} from '../base/index.ts';
import { type BlockKey, type Capture, type CatalogView, rangeOfKey } from '../catalog/index.ts';
import { type UrlKey, urlKey } from '../url/index.ts';
import { revisitProfileOf } from '../warc/index.ts';
import { type CatalogDraft, parseBlockId } from './catalog-draft.ts';
import type { RecordFacts } from './record-facts.ts';

const SECOND_MS = 1000;

/** Captures and declared digests of the batch at hand, which the catalog does not know yet. They are put in order when somebody asks for them. */
export class BatchMemory {
  readonly #captures = new Map<string, Capture[]>();
  readonly #aliases = new Map<string, BlockKey[]>();
  #newCaptures: Capture[] = [];
  #newAliases: { readonly declared: Digest; readonly block: BlockKey }[] = [];

  addCapture(capture: Capture): void {
    this.#newCaptures.push(capture);
  }

  addAlias(declared: Digest, block: BlockKey): void {
    this.#newAliases.push({ declared, block });
  }

  captures(key: UrlKey, time: number): Capture[] {
    for (const capture of this.#newCaptures) {
      push(this.#captures, `${Math.floor(capture.time / SECOND_MS)} ${capture.urlKey}`, capture);
    }
    this.#newCaptures = [];
    return this.#captures.get(`${Math.floor(time / SECOND_MS)} ${key}`) ?? [];
  }

  aliases(digest: Digest): BlockKey[] {
    for (const { declared, block } of this.#newAliases) push(this.#aliases, aliasText(declared), block);
    this.#newAliases = [];
    return this.#aliases.get(aliasText(digest)) ?? [];
  }
}

function push<T>(map: Map<string, T[]>, key: string, value: T): void {
  const list = map.get(key);
  if (list) list.push(value);
  else map.set(key, [value]);
}

function aliasText(digest: Digest): string {
  return fromLatin1(aliasBytes(digest));
}

/** A declared digest as the catalog keeps it: the bytes say the algorithm by their number. */
export function aliasBytes(digest: Digest): Uint8Array {
  return digest.bytes;
}

export type ResolutionOptions = {
  readonly fingerprint: (digest: Uint8Array) => Uint8Array;
  /** Whether segments of the archive are being read in whatever order: then the content may be one that is still to come. */
  readonly isOwn: boolean;
};

export async function resolveRevisit(
  facts: RecordFacts,
  catalog: CatalogView,
  draft: CatalogDraft,
  memory: BatchMemory,
  { fingerprint, isOwn }: ResolutionOptions,
): Promise<BlockKey | undefined> {
  const own = parseBlockId(facts.content);
  const named = own && (await known(own, draft));
  if (named || (own && isOwn)) return named;
  const parsed = parseDigest(facts.declaredDigest);
  const declared = parsed && !isDigestOfNothing(parsed) ? parsed : undefined;
  if (declared?.algorithm === 'sha256') {
    const digest = fingerprint(declared.bytes);
    await draft.load([digest]);
    const blocks = draft.blocksOf(digest);
    const exact = blocks.find((block) => block.key.overflow === facts.overflow);
    if (exact) return exact.key;
    if (!isOwn && facts.overflow === 0 && blocks[0]) return blocks[0].key;
  }
  const aliases = declared
    ? [...memory.aliases(declared), ...(await catalog.findAliases([aliasBytes(declared)]))[0]!]
    : [];
  const referent = await namedCapture(facts, catalog, memory, aliases);
  if (referent) return known(referent, draft);
  for (const alias of [...aliases, ...(await deletedReferents(facts, catalog, memory))]) {
    const block = await known(alias, draft);
    if (block) return block;
  }
  return revisitProfileOf(facts.profile) === 'server-not-modified' ? earlierCapture(facts, catalog, draft) : undefined;
}

async function known(key: BlockKey, draft: CatalogDraft): Promise<BlockKey | undefined> {
  await draft.load([key.digest]);
  return draft.block(key)?.key;
}

/** The content of the capture that Refers-To-Target-URI and -Date name. Several captures of one second are told apart by digest. */
async function namedCapture(
  facts: RecordFacts,
  catalog: CatalogView,
  memory: BatchMemory,
  aliases: readonly BlockKey[],
): Promise<BlockKey | undefined> {
  const time = parseW3cDate(facts.refersToDate);
  const uri = facts.refersToUri || (time === undefined ? '' : facts.url);
  if (time === undefined || uri === '') return undefined;
  const key = urlKey(uri);
  const from = Math.floor(time / SECOND_MS) * SECOND_MS;
  const found = [...memory.captures(key, time)];
  const range = { ...rangeOfKey(key), timeFrom: from, timeTo: from + SECOND_MS - 1 };
  for await (const page of catalog.captures(range, 16)) {
    found.push(...page);
    if (found.length > 64) break;
  }
  // A capture that became a revisit when it was added still names its content.
  const candidates = found.filter((capture) => capture.block !== undefined);
  const agreeing = candidates.find((capture) => aliases.some((alias) => sameBlock(alias, capture.block!)));
  const sameUrl = candidates.find((capture) => capture.url === uri);
  return (agreeing ?? (aliases.length === 0 ? (sameUrl ?? candidates[0]) : undefined))?.block;
}

/**
 * What a deleted capture goes by, so that revisits that name it find the content that it leaves behind. It stands among the declared digests: a digest
 * of URL and second.
 */
export function visitAlias(url: string, time: EpochMs): Digest {
  return digestOf('sha256', utf8(`visit ${Math.floor(time / SECOND_MS)} ${urlKey(url)}`));
}

async function deletedReferents(facts: RecordFacts, catalog: CatalogView, memory: BatchMemory): Promise<BlockKey[]> {
  const time = parseW3cDate(facts.refersToDate);
  if (time === undefined) return [];
  const alias = visitAlias(facts.refersToUri || facts.url, time);
  return [...memory.aliases(alias), ...(await catalog.findAliases([aliasBytes(alias)]))[0]!];
}

async function earlierCapture(
  facts: RecordFacts,
  catalog: CatalogView,
  draft: CatalogDraft,
): Promise<BlockKey | undefined> {
  const { time, urlKey: key } = facts;
  if (time === undefined) return undefined;
  for await (const page of catalog.captures({ ...rangeOfKey(key), timeTo: time, reverse: true }, 16)) {
    const earlier = page.find((capture) => capture.block !== undefined && capture.time <= time);
    if (earlier?.block) return known(earlier.block, draft);
  }
  return undefined;
}

function sameBlock(a: BlockKey, b: BlockKey): boolean {
  return a.overflow === b.overflow && Buffer.compare(a.digest, b.digest) === 0;
}
