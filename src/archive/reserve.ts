/**
 * The reserve: a file that takes up space beside the catalog. When the disk is full, removing it frees space.
 *
 * Nothing can be done with an archive before its catalog is open, and LevelDB writes to open one: its logs become
 * tables, and it begins a log and a list of files. Deleting and compacting, which free space, write before they free.
 * So:
 *
 * - Work that lets the archive grow first makes sure that the reserve exists, and is refused when there is no room for
 *   it.
 * - The reserve is given up when less space is free than it takes up. That happens after the catalog was opened, when
 *   the catalog cannot be opened otherwise, or before work that frees space.
 * - Closing the archive restores as much of a given up reserve as there is room for.
 *
 * LevelDB has two write buffers of 8 MiB in its logs, and merges tables of 8 MiB, a dozen of them at a time in a large
 * catalog. The file is never read. Its bytes look random, so that a file system cannot compress them.
 */
import { createHash } from 'node:crypto';
import { open, stat, statfs, truncate, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { fileError, PinakesError } from '../base/index.ts';

const RESERVE_NAME = 'reserve';
const MIB = 1024 * 1024;
/** Twice the size of the catalog, in steps. */
const CATALOGS = 2;
const STEP_BYTES = 8 * MIB;
const STEPS_MAX = 16;
/** A catalog grows, so its size is checked again after this many changes. */
const CHECK_EVERY = 1000;

export class Reserve {
  readonly #directory: string;
  readonly #path: string;
  /**
   * For how many changes the reserve is known to exist and to be large enough. Only the process that has the archive
   * open creates it or gives it up.
   */
  #changesUntilCheck = 0;
  #givenUpBytes = 0;

  constructor(directory: string) {
    this.#directory = directory;
    this.#path = join(directory, RESERVE_NAME);
  }

  /**
   * Makes sure that the reserve exists, before the archive grows. Fails when too little space would be left beside it.
   */
  async keep(catalog: { bytes(): Promise<number> }): Promise<void> {
    if (this.#changesUntilCheck-- > 0) return;
    // A change is not refused because the size of the catalog is unknown.
    const catalogBytes = await catalog.bytes().catch(() => 0);
    const steps = Math.ceil((CATALOGS * catalogBytes) / STEP_BYTES);
    const wanted = STEP_BYTES * Math.min(Math.max(steps, 1), STEPS_MAX);
    const bytes = await this.#bytes();
    const lacking = wanted - bytes;
    if (lacking > 0) {
      // With less space left, the next opening would give the reserve up again.
      const missing = lacking + wanted - (await this.#freeBytes());
      if (missing > 0) throw this.#full(missing);
      await this.#growTo(wanted).catch(async (cause: unknown) => {
        // The open catalog may need the space of this failed attempt.
        await truncate(this.#path, bytes).catch(() => {});
        const error = fileError(cause, this.#path, 'writing');
        throw error instanceof PinakesError && error.code === 'DISK_FULL' ? this.#full(missing) : error;
      });
    }
    this.#changesUntilCheck = CHECK_EVERY;
    this.#givenUpBytes = 0;
  }

  /** Gives the reserve up when less space is free than it takes. */
  async giveUpIfShort(): Promise<void> {
    if ((await this.#freeBytes()) < (await this.#bytes())) await this.giveUp();
  }

  /**
   * Gives the reserve up. Returns whether that freed space. If the file cannot be removed, work continues without that
   * space.
   */
  async giveUp(): Promise<boolean> {
    const bytes = await this.#bytes();
    if (bytes === 0) return false;
    const isGone = await unlink(this.#path).then(
      () => true,
      () => false,
    );
    if (!isGone) return false;
    this.#changesUntilCheck = 0;
    this.#givenUpBytes = bytes;
    return true;
  }

  /** Restores a reserve that was given up, as far as there is room. */
  async takeBack(): Promise<void> {
    // A smaller reserve is still useful.
    if (this.#givenUpBytes > 0) await this.#growTo(this.#givenUpBytes).catch(() => {});
  }

  /** The size of the reserve, and what is free beside it, where the file system reports it. */
  async state(): Promise<{ bytes: number; freeBytes: number | undefined }> {
    const freeBytes = await this.#freeBytes();
    return { bytes: await this.#bytes(), freeBytes: Number.isFinite(freeBytes) ? freeBytes : undefined };
  }

  async #bytes(): Promise<number> {
    return stat(this.#path).then(
      ({ size }) => size,
      () => 0,
    );
  }

  /** Infinite if the file system does not report its free space: a full disk then shows only when a write fails. */
  async #freeBytes(): Promise<number> {
    return (await freeBytesAt(this.#directory)) ?? Number.POSITIVE_INFINITY;
  }

  async #growTo(bytes: number): Promise<void> {
    const piece = createHash('shake256', { outputLength: MIB }).update(RESERVE_NAME).digest();
    await using file = await open(this.#path, 'a');
    for (let { size } = await file.stat(); size < bytes; )
      size += (await file.write(piece, 0, Math.min(piece.length, bytes - size))).bytesWritten;
  }

  /** The error of a full disk. At the limit of a quota, the number of missing bytes is unknown. */
  #full(missingBytes: number): PinakesError {
    const detail = missingBytes > 0 ? `${Math.ceil(missingBytes / MIB)} MiB more have to be free` : '';
    return new PinakesError('ARCHIVE_FULL', { where: this.#directory, detail });
  }
}

/** The room on the disk of a directory. Undefined if the file system does not report it. */
export async function freeBytesAt(directory: string): Promise<number | undefined> {
  const space = await statfs(directory).catch(() => undefined);
  return space && space.blocks > 0 ? space.bavail * space.bsize : undefined;
}
