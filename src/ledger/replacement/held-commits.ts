/** Commits of a process that holds the compaction lease of a volume, and what their refusals mean. */
import { PinakesError } from '../../base/index.ts';
import type { Catalog, CommitGroup, CommitOutcome, Lease, Segment } from '../../catalog/index.ts';
import { type AskAgain, askAgain } from '../ask-again.ts';
import { commitCounted } from '../counters.ts';

export type HeldCommitsOptions = {
  readonly catalog: Catalog;
  readonly lease: Lease;
  readonly again?: AskAgain | undefined;
};

export class HeldCommits {
  readonly #options: HeldCommitsOptions;

  constructor(options: HeldCommitsOptions) {
    this.#options = options;
  }

  /** Fails unless the group is committed. */
  async commit(group: CommitGroup): Promise<void> {
    const outcome = await this.ask(group);
    if (outcome.kind !== 'committed') throw refused(outcome, this.#options.lease.name);
  }

  ask(group: CommitGroup): Promise<CommitOutcome> {
    const { catalog, lease, again } = this.#options;
    return askAgain(() => commitCounted(catalog, { ...group, lease }), again);
  }
}

/** A change of a sealed segment that only checks that it is there. */
export function unchanged({ number, bytes, volume }: Segment): NonNullable<CommitGroup['segments']>[number] {
  return { number, from: { state: 'sealed', bytes, volume }, to: {} };
}

export function refused(outcome: CommitOutcome, where: string): PinakesError {
  return outcome.kind === 'fenced' && outcome.why === 'adopting'
    ? new PinakesError('ARCHIVE_BUSY', { detail: 'what is in the volumes is being adopted' })
    : new PinakesError('LEASE_LOST', { where });
}
