/**
 * What the outcome of a commit means for the writer (C6).
 *
 * ```
 *   committed   stored; the record of a lost race is surplus, and its capture refers to the winner (I12)
 *   stale       a content that a revisit refers to is gone or was moved: the group is made again (C3)
 *   known       the archive has or had these captures: the group is made again without them (C5)
 *   barred      these contents or URLs may not come back: they are refused with CONTENT_BARRED (D3)
 *   fenced      others have the lease or the segments: LEASE_LOST; while the volumes are being adopted: ARCHIVE_BUSY
 *   unknown     no answer: the error of the last try
 * ```
 * The writer keeps the payloads until the group is committed.
 */
import { AssertionError, PinakesError } from '../../base/index.ts';
import type { Capture, CommitOutcome, Mark, NewCapture } from '../../catalog/index.ts';
import { marksOf } from '../mark.ts';
import type { WriteOutcome } from '../segment-writer.ts';

export type Committed = Extract<CommitOutcome, { kind: 'committed' }>;

/** A group that has to be made again. */
export type Refusal = Extract<CommitOutcome, { kind: 'stale' | 'known' | 'barred' }>;

/** Each try fails only because another process changed what the group refers to. */
const TRIES_MAX = 1000;

/**
 * Commits a group, and makes it again while it is refused. `attempt` gets the refusal of the try before. It throws when
 * nothing is left to commit that it may leave out.
 */
export async function commitUntilTaken(
  attempt: (refusal: Refusal | undefined) => Promise<WriteOutcome>,
): Promise<Committed> {
  let refusal: Refusal | undefined;
  for (let tried = 0; tried < TRIES_MAX; tried++) {
    const outcome = await attempt(refusal);
    const refused = refusalOf(outcome);
    if (!refused) return outcome as Committed;
    refusal = refused;
  }
  throw new PinakesError('ARCHIVE_BUSY', { detail: 'others change the same contents again and again' });
}

/** Undefined: the group was committed. Throws when it is not to be made again. */
export function refusalOf(outcome: WriteOutcome): Refusal | undefined {
  switch (outcome.kind) {
    case 'committed':
      return undefined;
    case 'unknown':
      throw outcome.error;
    case 'fenced':
      throw outcome.why === 'adopting'
        ? new PinakesError('ARCHIVE_BUSY', { detail: 'what is in the volumes is being adopted' })
        : new PinakesError('LEASE_LOST', { detail: 'nothing was stored' });
    case 'moved':
      throw new AssertionError('only a deletion names places');
    default:
      return outcome;
  }
}

/** How a commit checks captures whose record ids come from outside. */
export type CaptureChecks = { readonly collectionName: string } & Pick<NewCapture, 'mayRepeat'>;

/** A capture whose record id comes from outside. Its marks are computed when they are read, which is seldom. */
export class OutsideCapture implements NewCapture {
  readonly capture: Capture;
  readonly mayRepeat: boolean;
  readonly #collectionName: string;

  constructor(capture: Capture, { collectionName, mayRepeat = false }: CaptureChecks) {
    this.capture = capture;
    this.mayRepeat = mayRepeat;
    this.#collectionName = collectionName;
  }

  get marks(): Mark[] {
    return marksOf(this.capture, this.#collectionName);
  }
}

/** Records of a file that are left out, by what the first refused try said of their captures. */
export class LeftOut<Facts> {
  readonly #why = new Map<Facts, 'known' | 'deleted' | 'barred'>();

  /** `entered`: the records of the captures of the refused group, in their order. */
  add(refusal: Refusal, entered: readonly Facts[]): void {
    if (refusal.kind === 'stale') return;
    const why = refusal.kind;
    for (const index of refusal.captures) this.#why.set(entered[index]!, why);
    if (refusal.kind === 'known') for (const index of refusal.deleted) this.#why.set(entered[index]!, 'deleted');
  }

  why(facts: Facts): 'known' | 'deleted' | 'barred' | undefined {
    return this.#why.get(facts);
  }
}
