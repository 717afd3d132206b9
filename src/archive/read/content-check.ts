/**
 * Checks records in members without a checksum against the known digests.
 *
 * The digest that the archive computed when it stored the record is used only when the digests in the record's own head
 * do not decide. They may not decide, because some tools declare wrong digests for sound records. A record without any
 * known digest cannot be checked.
 */
import { equal, type Finding } from '../../base/index.ts';
import type { CatalogView, Place } from '../../catalog/index.ts';
import { urlKey } from '../../url/index.ts';
import {
  type BlockFacts,
  BlockScanner,
  checksumlessScanOptions,
  type DecodedRecord,
  type DigestVerdict,
  judgeDigests,
  type RecordHead,
  warcFinding,
} from '../../warc/index.ts';
import { problemFinding } from '../verify-problem.ts';
import { isCaptureType } from './concurrent-records.ts';

type RecordPlace = Pick<Place, 'segment' | 'offset'>;

export class ContentCheck {
  readonly #catalog: Pick<CatalogView, 'findCaptures'>;
  readonly #fingerprint: (digest: Uint8Array) => Uint8Array;

  constructor(catalog: Pick<CatalogView, 'findCaptures'>, fingerprint: (digest: Uint8Array) => Uint8Array) {
    this.#catalog = catalog;
    this.#fingerprint = fingerprint;
  }

  /** The findings about a record that was read to its end. */
  async findings(
    place: RecordPlace,
    file: string,
    head: RecordHead,
    facts: BlockFacts,
    isComplete: boolean,
  ): Promise<readonly Finding[]> {
    // The reader reports truncated records.
    if (!isComplete) return [];
    const verdict = judgeDigests(head, facts, isComplete);
    const fault = isSettled(verdict) ? undefined : await this.#faultOf(place, head, facts, verdict);
    if (fault === undefined) return [];
    return [
      fault === 'content-changed' ? problemFinding(fault, file, place.offset) : warcFinding(fault, file, place.offset),
    ];
  }

  /** The findings about a record in memory. */
  findingsOf(place: RecordPlace, file: string, { head, block }: DecodedRecord): Promise<readonly Finding[]> {
    const scanner = new BlockScanner(head, checksumlessScanOptions(head, 'sha256'));
    if (block.length > 0) scanner.push(block);
    return this.findings(place, file, head, scanner.end(), true);
  }

  async #faultOf(place: RecordPlace, head: RecordHead, facts: BlockFacts, { block, payload }: DigestVerdict) {
    const isSame = await this.#isSameContent(place, head, facts);
    if (isSame === false) return 'content-changed';
    // If a tool declares a wrong payload digest for sound bytes, its block digest cannot be trusted either.
    if (block === 'none' && (isSame === undefined || payload !== 'none')) return 'block-digest-mismatch';
    return payload === 'none' && isSame === undefined ? 'payload-digest-mismatch' : undefined;
  }

  /** Whether the payload is the stored content. Undefined when the archive does not know the content of the record. */
  async #isSameContent({ segment, offset }: RecordPlace, head: RecordHead, facts: BlockFacts) {
    const { targetUri, time, type } = head;
    if (type === 'revisit' || !isCaptureType(type) || targetUri === undefined || time === undefined) return undefined;
    const question = { urlKey: urlKey(targetUri), time, at: { segment, offset } };
    const [[capture] = []] = await this.#catalog.findCaptures([question]);
    if (!capture?.block) return undefined;
    const [digest] = facts.payloadDigests;
    return digest !== undefined && equal(this.#fingerprint(digest.bytes), capture.block.digest);
  }
}

/** Whether the digests in the head of the record confirm its bytes. */
function isSettled({ block, payload }: DigestVerdict): boolean {
  if (block === 'block') return true;
  return block !== 'none' && (payload === 'payload' || payload === 'framed' || payload === 'decoded');
}
