/**
 * Finds the records that go with captures: requests, metadata and other records that a crawler wrote with them.
 *
 * A record goes with the captures that its WARC-Concurrent-To names, or that name it. A record without such a link goes
 * with the captures of the same URI and date. Crawlers write these records close together, so only the WINDOW_RECORDS
 * records on either side are searched, and memory does not grow with the segment (I9).
 */
import type { Finding } from '../../base/index.ts';
import { CAPTURE_ID_FIELD } from '../../ledger/index.ts';
import type { ReadingRecord, RecordHead } from '../../warc/index.ts';

const WINDOW_RECORDS = 10_000;

const CAPTURE_TYPES = new Set(['response', 'revisit', 'resource', 'conversion']);

export function isCaptureType(type: string): boolean {
  return CAPTURE_TYPES.has(type);
}

/** A concurrent record, by its place. Its length is unknown when its member is damaged. */
export type ConcurrentRecord = { readonly offset: number; readonly length: number | undefined; readonly type: string };

type Choice = { chosen: boolean; passed: boolean };

type SeenCapture = { readonly at: number; readonly ids: readonly string[]; readonly visit: string };

type Waiting = ConcurrentRecord & {
  readonly at: number;
  readonly recordId: string | undefined;
  readonly named: readonly string[];
  readonly visit: string | undefined;
  readonly damage: Finding | undefined;
};

export type ConcurrentRule = {
  readonly isChosen: (head: RecordHead) => boolean;
  /** Whether a record without a link is included when only one of two captures with its URI and date is chosen. */
  readonly whenDoubtful: boolean;
  /** Called with damaged records that have no link to a capture. The damage may have removed the link. */
  readonly onUnlinked?: (damage: Finding) => void;
};

/** The records that go with the chosen captures, in order. All records are read to their ends. */
export async function* findConcurrent(
  records: AsyncIterable<ReadingRecord>,
  rule: ConcurrentRule,
): AsyncGenerator<ConcurrentRecord> {
  const finder = new ConcurrentFinder(rule);
  for await (const record of records) {
    for await (const _ of record.body());
    yield* finder.see(record);
  }
  yield* finder.end();
}

class ConcurrentFinder {
  readonly #rule: ConcurrentRule;
  readonly #byId = new Map<string, Choice>();
  readonly #byVisit = new Map<string, Choice>();
  /** Record ids that captures name as concurrent to them. */
  readonly #named = new Map<string, Choice>();
  #captures: SeenCapture[] = [];
  #waiting: Waiting[] = [];
  #records = 0;

  constructor(rule: ConcurrentRule) {
    this.#rule = rule;
  }

  *see(record: ReadingRecord): Generator<ConcurrentRecord> {
    const { head, tail } = record;
    const at = this.#records++;
    if (isCaptureType(head.type)) this.#addCapture(head, at);
    else if (head.type !== 'warcinfo' && (tail?.length !== undefined || record.damage.length > 0)) {
      this.#waiting.push({
        at,
        offset: head.offset,
        length: tail?.length,
        type: head.type,
        recordId: head.recordId,
        named: head.getAll('warc-concurrent-to'),
        visit: head.targetUri === undefined ? undefined : visitOf(head),
        damage: record.damage[0],
      });
    }
    if (at % WINDOW_RECORDS === WINDOW_RECORDS - 1) yield* this.#settle(at - WINDOW_RECORDS);
  }

  *end(): Generator<ConcurrentRecord> {
    yield* this.#settle(Number.POSITIVE_INFINITY);
  }

  #addCapture(head: RecordHead, at: number): void {
    const isChosen = this.#rule.isChosen(head);
    const ids = [head.recordId, head.get(CAPTURE_ID_FIELD), head.get('warc-previous-record-id')];
    const own = ids.filter((id) => id !== undefined);
    const named = head.getAll('warc-concurrent-to');
    for (const id of own) note(this.#byId, id, isChosen);
    for (const id of named) note(this.#named, id, isChosen);
    note(this.#byVisit, visitOf(head), isChosen);
    this.#captures.push({ at, ids: [...own, ...named], visit: visitOf(head) });
  }

  /**
   * Decides about records whose neighbours were all seen, and forgets captures that are more than WINDOW_RECORDS before
   * later records.
   */
  *#settle(upTo: number): Generator<ConcurrentRecord> {
    const settled = this.#waiting.filter(({ at }) => at <= upTo);
    this.#waiting = this.#waiting.filter(({ at }) => at > upTo);
    for (const waiting of settled) {
      const choice = this.#choiceOf(waiting);
      if (choice && this.#goesAlong(choice)) yield waiting;
      else if (!choice && waiting.damage) this.#rule.onUnlinked?.(waiting.damage);
    }
    const past = this.#captures.filter(({ at }) => at <= upTo - WINDOW_RECORDS);
    this.#captures = this.#captures.filter(({ at }) => at > upTo - WINDOW_RECORDS);
    for (const { ids, visit } of past) {
      for (const id of ids) {
        this.#byId.delete(id);
        this.#named.delete(id);
      }
      this.#byVisit.delete(visit);
    }
  }

  /**
   * The choice for the captures that a record is linked to, or else for the captures of its URI and date. Undefined
   * when there are no such captures.
   */
  #choiceOf({ named, recordId, visit }: Waiting): Choice | undefined {
    const links = [
      ...named.map((id) => this.#byId.get(id)),
      recordId === undefined ? undefined : this.#named.get(recordId),
    ];
    const linked = links.filter((choice) => choice !== undefined);
    if (linked.length > 0) return { chosen: linked.some(({ chosen }) => chosen), passed: false };
    return visit === undefined ? undefined : this.#byVisit.get(visit);
  }

  #goesAlong({ chosen, passed }: Choice): boolean {
    return chosen && (!passed || this.#rule.whenDoubtful);
  }
}

function note(choices: Map<string, Choice>, key: string, isChosen: boolean): void {
  const choice = choices.get(key) ?? { chosen: false, passed: false };
  if (isChosen) choice.chosen = true;
  else choice.passed = true;
  choices.set(key, choice);
}

/** The visit that a record belongs to: records of one visit have one URI and date. */
export function visitOf(head: RecordHead): string {
  return `${head.standardDate ?? head.date} ${head.targetUri}`;
}
