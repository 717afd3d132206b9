/**
 * The temporary files of a process that has the archive open: spools of large bodies, sorting, compaction. Each opening
 * has a directory of its own, which no other process uses, on this machine or on another one.
 *
 * ```
 *   spool/<host>~<process id>~<time of the opening, in milliseconds>/
 * ```
 * An opening removes the directories of owners that have ended. A process of another machine cannot be checked, so what
 * it left is removed when it was not changed for a week.
 */
import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { EpochMs } from '../base/index.ts';
import { isProcessAlive } from './owner.ts';

const SPOOL_DIRECTORY = 'spool';
const FOREIGN_LIFE_MS = 7 * 24 * 3600 * 1000;

export class Scratch {
  readonly path: string;
  readonly #spool: string;
  readonly #openedAt: EpochMs;

  /** Two openings of one process at the same millisecond are of different archives, or one after the other. */
  constructor(directory: string, openedAt: EpochMs) {
    this.#spool = join(directory, SPOOL_DIRECTORY);
    this.#openedAt = openedAt;
    this.path = join(this.#spool, `${plain(hostname())}~${process.pid}~${openedAt}`);
  }

  /** Makes the directory, and removes what owners left that have ended. */
  async open(): Promise<void> {
    await mkdir(this.#spool, { recursive: true });
    for (const name of await readdir(this.#spool)) {
      const path = join(this.#spool, name);
      if (await this.#hasEnded(name, path)) await rm(path, { recursive: true, force: true });
    }
    await mkdir(this.path, { recursive: true });
  }

  async close(): Promise<void> {
    // What cannot be removed now is removed by a later opening.
    await rm(this.path, { recursive: true, force: true }).catch(() => {});
  }

  async #hasEnded(name: string, path: string): Promise<boolean> {
    const [, host, pid] = /^([^~]+)~(\d{1,10})~\d{1,15}$/.exec(name) ?? [];
    // Programs without such names kept one directory for one process, and the lock shows that it has ended.
    if (host === undefined) return true;
    // The lock shows that this process has no other opening.
    if (host === plain(hostname())) return Number(pid) === process.pid || !isProcessAlive(Number(pid));
    const found = await stat(path).catch(() => undefined);
    return found !== undefined && found.mtimeMs + FOREIGN_LIFE_MS < this.#openedAt;
  }
}

/** The name of a host as a part of a file name. */
function plain(host: string): string {
  return host.replace(/[^A-Za-z0-9._-]/g, '-').slice(0, 100) || 'host';
}
