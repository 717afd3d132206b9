/**
 * The free space of volumes, by which a volume is chosen for a new content.
 *
 * Asking eight volumes costs as much as storing three duplicates, so many small commits in a row use one answer. It is
 * too young to miss that a volume gets full: a volume is chosen only while it has 64 MiB. A volume may disappear, which
 * the next write to it finds out; then the answer is renewed.
 */
import { type Clock, PinakesError } from '../../base/index.ts';
import { type AnyVolume, isPartVolume, type VolumeSpace } from '../../volume/index.ts';

/** Volumes that are there, and their spaces in the same order. */
export type Spaces = { readonly there: readonly AnyVolume[]; readonly spaces: readonly VolumeSpace[] };

type Answer = Spaces & { readonly asked: readonly AnyVolume[]; readonly timeMs: number };

const FRESH_MS = 200;

export class RecentSpaces {
  readonly #clock: Clock;
  #answer: Answer | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The spaces as of a short time ago. */
  async of(volumes: readonly AnyVolume[]): Promise<Spaces> {
    const known = this.#answer;
    // A clock that was set back must not keep an answer.
    const isFresh = known && Math.abs(this.#clock() - known.timeMs) < FRESH_MS && isSame(known.asked, volumes);
    return isFresh ? known : this.#ask(volumes);
  }

  /** Asks again. Returns whether other volumes are there than in the last answer. */
  async haveChanged(): Promise<boolean> {
    const known = this.#answer;
    if (!known) return false;
    this.#answer = undefined;
    return !isSame(known.there, (await this.#ask(known.asked)).there);
  }

  async #ask(volumes: readonly AnyVolume[]): Promise<Spaces> {
    this.#answer = { ...(await spacesOf(volumes)), asked: volumes, timeMs: this.#clock() };
    return this.#answer;
  }
}

function isSame(some: readonly AnyVolume[], others: readonly AnyVolume[]): boolean {
  return some.length === others.length && some.every((volume, index) => volume === others[index]);
}

/** A volume that does not say how much room it has gets as much as a very large disk. */
const UNKNOWN_SPACE: VolumeSpace = { freeBytes: 2 ** 40, totalBytes: 2 ** 40 };

async function spaceOf(volume: AnyVolume): Promise<VolumeSpace> {
  return isPartVolume(volume) ? UNKNOWN_SPACE : volume.space();
}

/** Asks volumes for their space. Fails when none of them answers. */
export async function spacesOf(volumes: readonly AnyVolume[]): Promise<Spaces> {
  const asked = await Promise.allSettled(volumes.map(spaceOf));
  const there: AnyVolume[] = [];
  const spaces: VolumeSpace[] = [];
  const failures: unknown[] = [];
  for (const [index, answer] of asked.entries()) {
    if (answer.status === 'fulfilled') {
      there.push(volumes[index]!);
      spaces.push(answer.value);
    } else if (answer.reason instanceof PinakesError) failures.push(answer.reason);
    else throw answer.reason;
  }
  if (there.length === 0) throw failures[0];
  return { there, spaces };
}
