/** Volumes and segments whose contents cannot be read at all. Each is reported once, with what depends on it. */

import type { PinakesError } from '../../base/index.ts';
import type { Segment } from '../../catalog/index.ts';
import type { ProblemCode, ProblemPlace } from '../verify-problem.ts';
import type { Report } from './problem-reporter.ts';

const EXAMPLES_MAX = 5;

export class Lost {
  readonly #code: ProblemCode;
  readonly #place: ProblemPlace;
  readonly #detail: string;
  contents = 0;
  leaning = 0;
  records = 0;
  readonly #examples: string[] = [];
  /** Segments of other volumes whose tombstones are in this volume: which of their records were deleted is unknown. */
  readonly tombstonesOf = new Set<string>();

  constructor(code: ProblemCode, place: ProblemPlace, detail: string) {
    this.#code = code;
    this.#place = place;
    this.#detail = detail;
  }

  addCapture(url: string): void {
    this.records++;
    if (this.#examples.length < EXAMPLES_MAX) this.#examples.push(url);
  }

  reportTo(report: Report): Promise<void> {
    const { contents, leaning, records, tombstonesOf } = this;
    const said = [
      this.#detail,
      `${records} captures have their record there, ${contents} contents are held there`,
      tombstonesOf.size > 0 &&
        `tombstones of other volumes lie there, of ${[...tombstonesOf].slice(0, EXAMPLES_MAX).join(', ')}`,
    ];
    return report(this.#code, this.#place, {
      detail: said.filter(Boolean).join('; '),
      leaning,
      examples: this.#examples,
    });
  }
}

/** What a verification could not read, by segment. */
export class LostParts {
  readonly volumes = new Map<string, Lost>();
  readonly #segments = new Map<number, Lost>();

  get size(): number {
    return this.#segments.size;
  }

  of(segment: number): Lost | undefined {
    return this.#segments.get(segment);
  }

  loseVolume(volume: string, failure: PinakesError): Lost {
    const known = this.volumes.get(volume);
    if (known) return known;
    const lost = new Lost('volume-missing', { volume }, failure.message);
    this.volumes.set(volume, lost);
    return lost;
  }

  /** Notes a segment that is lost with its volume. */
  loseWith({ number }: Segment, volume: Lost): void {
    this.#segments.set(number, volume);
  }

  lose({ volume, name, number }: Segment, code: ProblemCode, detail: string): void {
    this.#segments.set(number, new Lost(code, { volume, segment: name }, detail));
  }

  /** Whether the segment is lost by itself, and not with its volume. */
  isSegment(number: number): boolean {
    const lost = this.#segments.get(number);
    return lost !== undefined && ![...this.volumes.values()].includes(lost);
  }

  /** The lost volumes, and the lost segments that were not replaced since. `now` returns the row of a segment. */
  async left(now: (number: number) => Promise<Segment | undefined>): Promise<Set<Lost>> {
    const left = new Set(this.volumes.values());
    for (const [number, lost] of this.#segments) if (left.has(lost) || (await now(number))) left.add(lost);
    return left;
  }
}
