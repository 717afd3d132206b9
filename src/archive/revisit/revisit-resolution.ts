/**
 * Finds the contents of revisits.
 *
 * The following are tried in this order: the SHA-256 that a revisit declares; the capture that its Refers-To fields
 * name by URI and date, to the second; any capture whose writer declared the same digest in any form; the alias that a
 * deleted capture left behind; the capture of the same URL whose record has the id that Refers-To names; and, for a
 * server's "not modified", the latest earlier capture of the same URL. Digests that other writers declare cover
 * different bytes. So they are compared only with each other, and never with the archive's own digests.
 *
 * The catalog is asked about many revisits in few calls, before the first of them is resolved. The resolver is notified
 * of captures that are entered later.
 */
import {
  assert,
  type Digest,
  digestOf,
  type EpochMs,
  fromLatin1,
  isDigestOfNothing,
  parseDigest,
  parseRecordDate,
  utf8,
} from '../../base/index.ts';
import { type BlockKey, type Capture, type CatalogView, compareBlockKeys, rangeOfKey } from '../../catalog/index.ts';
import { recordHash } from '../../ledger/index.ts';
import { type UrlKey, urlKey } from '../../url/index.ts';
import { revisitProfileOf } from '../../warc/index.ts';
import { type CatalogDraft, parseBlockId } from './catalog-draft.ts';
import type { ResolutionFilter } from './resolution-filter.ts';
import type { RevisitClues } from './revisit-clues.ts';

const SECOND_MS = 1000;
/** The most captures of one second that are read to find the one that a revisit refers to. */
const NAMED_MAX = 64;
/** The most captures of one URL that are searched for the record id that a revisit names. */
const REFERRED_MAX = 1000;

export type ResolutionOptions = {
  readonly fingerprint: (digest: Uint8Array) => Uint8Array;
  /**
   * Whether segments of the archive are being read. Their order is arbitrary, so the content of a revisit may still
   * follow.
   */
  readonly isOwn: boolean;
  /** Whether `namesRevisit` will be called, which needs the captures that revisits name. */
  readonly asksNames?: boolean;
};

/** A settled question. The answer may be that the content is not there. */
type Answer = { readonly block: BlockKey | undefined };

/** A capture as a revisit names it, by URL and time. It is looked up by URL and second, which are in `text`. */
type Visit = { readonly uri: string; readonly urlKey: UrlKey; readonly time: EpochMs; readonly text: string };

/** The parsed statements of a revisit about its content. */
type Leads = {
  /** The content, if the archive itself named it in the revisit. */
  readonly named: BlockKey | undefined;
  readonly overflow: number;
  readonly declared: Digest | undefined;
  readonly visit: Visit | undefined;
};

export class RevisitResolver {
  readonly #catalog: CatalogView;
  readonly #draft: CatalogDraft;
  readonly #options: ResolutionOptions;
  readonly #leads = new Map<RevisitClues, Leads>();
  /** The answers of the catalog (found), and captures and aliases that were entered later. */
  readonly #foundCaptures = new Map<string, readonly Capture[]>();
  readonly #foundAliases = new Map<string, readonly BlockKey[]>();
  readonly #enteredCaptures = new Map<string, Capture[]>();
  readonly #enteredAliases = new Map<string, BlockKey[]>();
  /** Captures and aliases that are moved to the maps when they are first needed. */
  #newCaptures: Capture[] = [];
  #newAliases: { readonly declared: Uint8Array; readonly block: BlockKey }[] = [];

  constructor(catalog: CatalogView, draft: CatalogDraft, options: ResolutionOptions) {
    this.#catalog = catalog;
    this.#draft = draft;
    this.#options = options;
  }

  /** A capture that the catalog does not know yet. */
  addCapture(capture: Capture): void {
    this.#newCaptures.push(capture);
  }

  /** `declared`: as `aliasBytes` gives it. */
  addAlias(declared: Uint8Array, block: BlockKey): void {
    this.#newAliases.push({ declared, block });
  }

  /**
   * Asks the catalog about these revisits. Each further question is asked only for revisits that the answers before it
   * do not settle.
   */
  async load(revisits: readonly RevisitClues[]): Promise<void> {
    if (revisits.length === 0) return;
    for (const clues of revisits) this.#leads.set(clues, leadsOf(clues));
    const all = revisits.map((clues) => this.#leads.get(clues)!);
    await this.#draft.load(all.flatMap((leads) => this.#ownDigests(leads)));
    const open = all.filter((leads) => !this.#own(leads));
    await this.#loadVisits((this.#options.asksNames ? all : open).flatMap(({ visit }) => visit ?? []));
    await this.#loadAliases(open.flatMap(({ declared }) => declared ?? []));
    const left = open.filter((leads) => !this.#found(leads));
    await this.#loadAliases(left.flatMap(({ visit }) => (visit ? aliasOfVisit(visit) : [])));
  }

  /** The content of a loaded revisit. Undefined while the archive does not have it. */
  async resolve(clues: RevisitClues): Promise<BlockKey | undefined> {
    this.#takeNew();
    const leads = this.#leadsOf(clues);
    const answer = this.#own(leads) ?? this.#found(leads) ?? this.#leftBehind(leads);
    if (answer) return answer.block;
    const referred = clues.refersTo === '' ? undefined : await this.#referredCapture(clues);
    if (referred) return referred;
    return isNotModified(clues) ? this.#earlierCapture(clues) : undefined;
  }

  /** Whether the capture that a revisit names is itself a revisit here. */
  namesRevisit(clues: RevisitClues): boolean {
    assert(this.#options.asksNames, 'asksNames is set before this is asked');
    this.#takeNew();
    const { visit } = this.#leadsOf(clues);
    const named = visit ? this.#capturesOf(visit) : [];
    const same = named.filter(({ time, url }) => time === visit!.time && url === clues.refersToUri);
    return same.length > 0 && same.every(({ kind }) => kind === 'revisit');
  }

  #leadsOf(clues: RevisitClues): Leads {
    const leads = this.#leads.get(clues);
    assert(leads, 'a revisit is loaded before it is resolved');
    return leads;
  }

  #takeNew(): void {
    for (const capture of this.#newCaptures)
      push(this.#enteredCaptures, visitText(capture.urlKey, capture.time), capture);
    for (const { declared, block } of this.#newAliases) push(this.#enteredAliases, fromLatin1(declared), block);
    this.#newCaptures = [];
    this.#newAliases = [];
  }

  #aliasesOf(declared: Digest): BlockKey[] {
    const text = aliasText(declared);
    return [...(this.#enteredAliases.get(text) ?? []), ...(this.#foundAliases.get(text) ?? [])];
  }

  #capturesOf({ text }: Visit): Capture[] {
    return [...(this.#enteredCaptures.get(text) ?? []), ...(this.#foundCaptures.get(text) ?? [])];
  }

  async #loadAliases(digests: readonly Digest[]): Promise<void> {
    const asked = new Map(digests.map((digest) => [aliasText(digest), aliasBytes(digest)]));
    const found = await this.#catalog.findAliases([...asked.values()]);
    for (const [index, text] of [...asked.keys()].entries()) this.#foundAliases.set(text, found[index]!);
    await this.#draft.load(found.flat().map((block) => block.digest));
  }

  async #loadVisits(visits: readonly Visit[]): Promise<void> {
    const asked = new Map(visits.map((visit) => [visit.text, visit]));
    const questions = Array.from(asked.values(), ({ urlKey: key, time }) => {
      const second = Math.floor(time / SECOND_MS) * SECOND_MS;
      return { urlKey: key, time: second, timeTo: second + SECOND_MS - 1, limit: NAMED_MAX };
    });
    const found = await this.#catalog.findCaptures(questions);
    for (const [index, text] of [...asked.keys()].entries()) this.#foundCaptures.set(text, found[index]!);
    await this.#draft.load(found.flat().flatMap((capture) => capture.block?.digest ?? []));
  }

  /** The archive's own digests in a revisit. */
  #ownDigests({ named, declared }: Leads): Uint8Array[] {
    const sha256 = declared?.algorithm === 'sha256' ? [this.#options.fingerprint(declared.bytes)] : [];
    return named ? [named.digest, ...sha256] : sha256;
  }

  /** The content that a revisit names by the archive's own digest. */
  #own({ named, declared, overflow }: Leads): Answer | undefined {
    const { isOwn, fingerprint } = this.#options;
    const held = named && this.#held(named);
    if (held || (named && isOwn)) return { block: held };
    if (declared?.algorithm !== 'sha256') return undefined;
    const blocks = this.#draft.blocksOf(fingerprint(declared.bytes));
    const exact = blocks.find((block) => block.key.overflow === overflow);
    const meant = exact ?? (isOwn || overflow !== 0 ? undefined : blocks[0]);
    return meant && { block: meant.key };
  }

  /** The content that the named capture or the declared digest leads to. */
  #found({ visit, declared }: Leads): Answer | undefined {
    const aliases = declared ? this.#aliasesOf(declared) : [];
    const referent = visit && this.#namedCapture(visit, aliases);
    return referent ? { block: this.#held(referent) } : this.#firstHeld(aliases);
  }

  /** The content that a deleted capture left behind. */
  #leftBehind({ visit }: Leads): Answer | undefined {
    return visit && this.#firstHeld(this.#aliasesOf(aliasOfVisit(visit)));
  }

  #firstHeld(keys: readonly BlockKey[]): Answer | undefined {
    for (const key of keys) {
      const block = this.#held(key);
      if (block) return { block };
    }
    return undefined;
  }

  /**
   * The content of the capture that Refers-To-Target-URI and -Date name. Digests tell several captures of one second
   * apart.
   */
  #namedCapture(visit: Visit, aliases: readonly BlockKey[]): BlockKey | undefined {
    // Captures that were stored as revisits are candidates too, since the catalog has their contents.
    const candidates = this.#capturesOf(visit).filter((capture) => capture.block !== undefined);
    const agreeing = candidates.find((capture) =>
      aliases.some((alias) => compareBlockKeys(alias, capture.block!) === 0),
    );
    const sameUrl = candidates.find((capture) => capture.url === visit.uri);
    return (agreeing ?? (aliases.length === 0 ? (sameUrl ?? candidates[0]) : undefined))?.block;
  }

  /** The content of the capture whose record has the id that Refers-To names, even if that capture was deleted. */
  async #referredCapture({ refersTo, refersToUri, url, time }: RevisitClues): Promise<BlockKey | undefined> {
    const key = urlKey(refersToUri || url);
    const hash = recordHash(refersTo);
    const isMeant = (capture: Capture) => capture.hash === hash && capture.block !== undefined;
    for (const captures of this.#enteredCaptures.values()) {
      const meant = captures.find((capture) => capture.urlKey === key && isMeant(capture));
      if (meant) return this.#held(meant.block!);
    }
    let looked = 0;
    const range = { ...rangeOfKey(key), ...(time !== undefined && { timeTo: time }), reverse: true };
    for await (const page of this.#catalog.captures(range)) {
      const block = page.find(isMeant)?.block;
      if (block) {
        await this.#draft.load([block.digest]);
        return this.#held(block);
      }
      looked += page.length;
      if (looked >= REFERRED_MAX) break;
    }
    const left = recordAlias(key, hash);
    await this.#loadAliases([left]);
    return this.#firstHeld(this.#aliasesOf(left))?.block;
  }

  async #earlierCapture({ time, urlKey: key }: RevisitClues): Promise<BlockKey | undefined> {
    if (time === undefined) return undefined;
    for await (const page of this.#catalog.captures({ ...rangeOfKey(key), timeTo: time, reverse: true }, 16)) {
      const block = page.find((capture) => capture.block !== undefined)?.block;
      if (!block) continue;
      await this.#draft.load([block.digest]);
      return this.#held(block);
    }
    return undefined;
  }

  #held(key: BlockKey): BlockKey | undefined {
    return this.#draft.block(key)?.key;
  }
}

/** Whether newly stored records may lead to the content of a revisit. */
export function isConcerned(
  clues: RevisitClues,
  resolutionFilter: ResolutionFilter,
  fingerprint: (digest: Uint8Array) => Uint8Array,
): boolean {
  const { named, declared, visit } = leadsOf(clues);
  if (named && resolutionFilter.mayHaveDigest(named.digest)) return true;
  if (declared && resolutionFilter.mayHaveDigest(aliasBytes(declared))) return true;
  if (declared?.algorithm === 'sha256' && resolutionFilter.mayHaveDigest(fingerprint(declared.bytes))) return true;
  if (visit && resolutionFilter.mayHaveCapture(visit.urlKey, visit.time)) return true;
  if (visit && resolutionFilter.mayHaveDigest(aliasBytes(aliasOfVisit(visit)))) return true;
  if (clues.refersTo !== '' && resolutionFilter.mayHaveCapture(urlKey(clues.refersToUri || clues.url))) return true;
  return isNotModified(clues) && resolutionFilter.mayHaveCapture(clues.urlKey);
}

/** A declared digest as the catalog keeps it. The number of bytes shows the algorithm. */
export function aliasBytes(digest: Digest): Uint8Array {
  return digest.bytes;
}

/**
 * An alias that a deleted capture leaves behind, so that revisits which name the capture still find the content. It is
 * kept among the declared digests, as a digest of URL and second.
 */
export function visitAlias(url: string, time: EpochMs): Digest {
  return aliasOfVisit({ text: visitText(urlKey(url), time) });
}

/** An alias like `visitAlias`, made from the URL and the hash of the record id. */
export function recordAlias(key: UrlKey, hash: number): Digest {
  return digestOf('sha256', utf8(`record ${hash} ${key}`));
}

function aliasOfVisit({ text }: Pick<Visit, 'text'>): Digest {
  return digestOf('sha256', utf8(`visit ${text}`));
}

function leadsOf(clues: RevisitClues): Leads {
  const declared = parseDigest(clues.declaredDigest);
  return {
    named: parseBlockId(clues.content),
    overflow: clues.overflow,
    declared: declared && !isDigestOfNothing(declared) ? declared : undefined,
    visit: visitNamedBy(clues),
  };
}

function visitNamedBy({ refersToUri, refersToDate, url }: RevisitClues): Visit | undefined {
  const time = parseRecordDate(refersToDate);
  const uri = refersToUri || url;
  if (time === undefined || uri === '') return undefined;
  const key = urlKey(uri);
  return { uri, urlKey: key, time, text: visitText(key, time) };
}

function isNotModified({ profile }: RevisitClues): boolean {
  return revisitProfileOf(profile) === 'server-not-modified';
}

function visitText(key: UrlKey, time: EpochMs): string {
  return `${Math.floor(time / SECOND_MS)} ${key}`;
}

function aliasText(digest: Digest): string {
  return fromLatin1(aliasBytes(digest));
}

function push<T>(map: Map<string, T[]>, key: string, value: T): void {
  const list = map.get(key);
  if (list) list.push(value);
  else map.set(key, [value]);
}
