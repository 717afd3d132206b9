/**
 * The captures that a step of an add skips because the archive has them, and the records that are skipped with them.
 *
 * A record goes with the captures that its WARC-Concurrent-To names, or that name it. A record without such a link goes
 * with the captures of the same URI and date. A record that belongs to an added capture, or may belong to one, is never
 * skipped.
 */
import type { RecordFacts } from '../../ledger/index.ts';
import { visitOf } from './visit.ts';

/** Captures that records may go with: their ids, the ids that they name, and their visits. */
type LinkedCaptures = { readonly ids: Set<string>; readonly visits: Set<string> };

export class SkippedCaptures {
  readonly #skipped: LinkedCaptures = { ids: new Set(), visits: new Set() };
  /** The records of the step. Emptied when the added captures among them have been collected. */
  #records: readonly RecordFacts[];
  readonly #known = new Set<RecordFacts>();
  #taken: LinkedCaptures | undefined;

  constructor(records: readonly RecordFacts[] = []) {
    this.#records = records;
  }

  /** Skips a capture that the archive has. */
  skip(facts: RecordFacts): void {
    join(this.#skipped, facts);
    this.#known.add(facts);
  }

  get isEmpty(): boolean {
    return this.#known.size === 0;
  }

  isLinked(facts: RecordFacts): boolean {
    return isLinked(this.#skipped, facts);
  }

  isOfVisit(visit: string): boolean {
    return this.#skipped.visits.has(visit);
  }

  isLinkedToTaken(facts: RecordFacts): boolean {
    return isLinked(this.#takenCaptures(), facts);
  }

  isOfTakenVisit(visit: string): boolean {
    return this.#takenCaptures().visits.has(visit);
  }

  #takenCaptures(): LinkedCaptures {
    if (this.#taken) return this.#taken;
    this.#taken = { ids: new Set(), visits: new Set() };
    for (const facts of this.#records) if (facts.kind && !this.#known.has(facts)) join(this.#taken, facts);
    this.#records = [];
    return this.#taken;
  }
}

/** Whether a record is skipped with captures of these steps. */
export function goesWithSkipped(steps: readonly SkippedCaptures[], facts: RecordFacts): boolean {
  if (steps.every(({ isEmpty }) => isEmpty)) return false;
  if (steps.some((step) => step.isLinkedToTaken(facts))) return false;
  if (steps.some((step) => step.isLinked(facts))) return true;
  const visit = visitOf(facts);
  return steps.some((step) => step.isOfVisit(visit)) && !steps.some((step) => step.isOfTakenVisit(visit));
}

function join({ ids, visits }: LinkedCaptures, facts: RecordFacts): void {
  ids.add(facts.recordId).add(facts.concurrentTo);
  visits.add(visitOf(facts));
}

function isLinked({ ids }: LinkedCaptures, { concurrentTo, recordId }: RecordFacts): boolean {
  return (concurrentTo !== '' && ids.has(concurrentTo)) || (recordId !== '' && ids.has(recordId));
}
