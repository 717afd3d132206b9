/**
 * What the archive knows of the revisits of other crawlers and of declared digests, for the ledger: when records that
 * are in a segment already are entered in the catalog.
 *
 * A record whose capture was deleted leaves aliases behind, so that revisits that name the capture still find the
 * content.
 */
import { equal, parseDigest } from '../../base/index.ts';
import type { Alias, Block, BlockKey, Capture, CatalogView, NewBlock, Place } from '../../catalog/index.ts';
import type { ForeignEntries, ForeignGroup, ForeignRevisits, RecordFacts } from '../../ledger/index.ts';
import { CatalogDraft } from './catalog-draft.ts';
import type { ResolutionFilter } from './resolution-filter.ts';
import { formatClues, unresolvedNote } from './revisit-clues.ts';
import { aliasBytes, RevisitResolver, recordAlias, visitAlias } from './revisit-resolution.ts';

type Knowing = {
  readonly catalog: CatalogView;
  readonly resolutionFilter: ResolutionFilter;
  readonly fingerprint: (digest: Uint8Array) => Uint8Array;
};

export class CatalogForeignRevisits implements ForeignRevisits {
  readonly #archive: Knowing;

  constructor(archive: Knowing) {
    this.#archive = archive;
  }

  async load(revisits: readonly RecordFacts[], contents: readonly Uint8Array[]): Promise<ForeignGroup> {
    const { catalog, resolutionFilter, fingerprint } = this.#archive;
    const draft = new CatalogDraft(catalog, resolutionFilter);
    const resolver = new RevisitResolver(catalog, draft, { fingerprint, isOwn: true });
    await draft.load(contents);
    await resolver.load(revisits);
    return new DraftedGroup(draft, resolver);
  }

  entriesOf(facts: RecordFacts, place: Place, block: BlockKey | undefined, isDead: boolean): ForeignEntries {
    const { resolutionFilter } = this.#archive;
    const aliases: Alias[] = [];
    const putAlias = (declared: Uint8Array, named: BlockKey) => {
      aliases.push({ declared, block: named });
      resolutionFilter.addDigest(declared);
    };
    if (block) {
      const isFull = facts.kind !== 'revisit';
      if (isFull) resolutionFilter.addDigest(block.digest);
      for (const text of isFull ? [facts.declaredDigest, facts.alsoDeclared] : [facts.alsoDeclared]) {
        const declared = text === '' ? undefined : parseDigest(text);
        if (declared && !(declared.algorithm === 'sha256' && equal(declared.bytes, block.digest)))
          putAlias(aliasBytes(declared), block);
      }
      if (isDead) {
        putAlias(aliasBytes(visitAlias(facts.url, facts.time!)), block);
        putAlias(aliasBytes(recordAlias(facts.urlKey, facts.hash)), block);
      }
    }
    if (isDead) return { aliases };
    resolutionFilter.addCapture({ urlKey: facts.urlKey, time: facts.time! });
    const isUnresolved = facts.kind === 'revisit' && !block;
    return isUnresolved ? { aliases, putNotes: { [unresolvedNote(place)]: formatClues(facts) } } : { aliases };
  }
}

/** The revisits of one group. */
class DraftedGroup implements ForeignGroup {
  readonly #draft: CatalogDraft;
  readonly #resolver: RevisitResolver;

  constructor(draft: CatalogDraft, resolver: RevisitResolver) {
    this.#draft = draft;
    this.#resolver = resolver;
  }

  enter(capture: Capture, added: NewBlock | undefined, aliases: readonly Alias[]): void {
    if (added && !this.#draft.block(added.key)) this.#draft.addBlock(added.key, added.size, added.holder);
    this.#resolver.addCapture(capture);
    for (const { declared, block } of aliases) this.#resolver.addAlias(declared, block);
  }

  async resolve(facts: RecordFacts): Promise<Pick<Block, 'key' | 'holder'> | undefined> {
    const key = await this.#resolver.resolve(facts);
    return key && this.#draft.block(key);
  }
}
