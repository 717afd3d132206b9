/**
 * Whether the server should get requests, for the proxy or scheduler in front of it: the catalog and the volumes
 * answer, and the server is not leaving. An answer counts for a second, so that many probes cost as much as one.
 *
 * Everyone may ask, so an answer has no paths, no addresses and no names.
 */
import type { Archive, SilentPart } from '../archive/index.ts';
import { ERROR_CATALOGUE } from '../base/index.ts';
import { SERVER_STOPPING } from './http/problem.ts';

const CACHED_MS = 1000;

/** What `exclude` can leave out of the answer. */
type Part = SilentPart['part'];

export type NotReady = {
  readonly part: Part | 'server';
  readonly code: string;
  readonly message: string;
};

type Asked = {
  readonly reasons: Promise<NotReady[]>;
  /** When the answer ends to count; undefined while it is awaited. */
  until: number | undefined;
};

export class Readiness {
  readonly #archive: Pick<Archive, 'silentParts'>;
  readonly #stopwatch: () => number;
  #asked: Asked | undefined;
  #isLeaving = false;

  /** `stopwatch`: milliseconds that never go back. */
  constructor(archive: Pick<Archive, 'silentParts'>, stopwatch: () => number) {
    this.#archive = archive;
    this.#stopwatch = stopwatch;
  }

  get isLeaving(): boolean {
    return this.#isLeaving;
  }

  /** From now on the server is not ready. */
  leave(): void {
    this.#isLeaving = true;
  }

  /** Why the server is not ready; empty when it is. */
  async reasons(excluded: ReadonlySet<string> = new Set()): Promise<NotReady[]> {
    const { code, message } = SERVER_STOPPING;
    if (this.#isLeaving) return [{ part: 'server', code, message }];
    if ((this.#asked?.until ?? Number.POSITIVE_INFINITY) <= this.#stopwatch()) this.#asked = undefined;
    this.#asked ??= this.#ask();
    return (await this.#asked.reasons).filter(({ part }) => !excluded.has(part));
  }

  #ask(): Asked {
    const asked: Asked = { reasons: this.#silent(), until: undefined };
    const end = () => {
      asked.until = this.#stopwatch() + CACHED_MS;
    };
    asked.reasons.then(end, end);
    return asked;
  }

  async #silent(): Promise<NotReady[]> {
    const silent = await this.#archive.silentParts();
    return silent.map(({ part, failure: { code } }) => ({ part, code, message: ERROR_CATALOGUE[code].says }));
  }
}
