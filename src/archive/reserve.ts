/**
 * The reserve: a file that takes up room beside the catalog, so that there is some to be had when the disk is full.
 *
 * Nothing can be done with an archive before its catalog is open, and LevelDB writes to open one: its logs become
 * tables, and it begins a log and a list of files. What makes room, deleting and compacting, writes before it frees.
 * So:
 *
 * - What lets the archive grow begins with making sure of the reserve, and is refused where there is no room for it.
 * - Where less is free than the reserve has, it is given up: right after the catalog was opened, or for opening it, and
 *   before anything that makes room.
 * - What was given up is taken back when the archive is closed, as much of it as there is.
 *
 * LevelDB has two write buffers of 8 MiB in its logs, and merges tables of 8 MiB, a dozen of them at a time in a large
 * catalog. Nothing reads the file. It holds what cannot be compressed, as a file system might do.
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
/** A catalog grows: after so many changes its size is looked at again. */
const CHANGES_SURE = 1000;

export class Reserve {
  readonly #directory: string;
  readonly #path: string;
  /**
   * For how many changes it is known to be there and large enough. Only whoever has the archive open makes it or gives
   * it up.
   */
  #sureFor = 0;
  #givenUpBytes = 0;

  constructor(directory: string) {
    this.#directory = directory;
    this.#path = join(directory, RESERVE_NAME);
  }

  /** Makes sure that it is there, before the archive grows. Fails where too little would be left beside it. */
  async keep(catalog: { bytes(): Promise<number> }): Promise<void> {
    if (this.#sureFor-- > 0) return;
    // What keeps the catalog from telling its size is no reason to refuse anything.
    const catalogBytes = await catalog.bytes().catch(() => 0);
    const steps = Math.ceil((CATALOGS * catalogBytes) / STEP_BYTES);
    const wanted = STEP_BYTES * Math.min(Math.max(steps, 1), STEPS_MAX);
    const bytes = await this.#bytes();
    const lacking = wanted - bytes;
    if (lacking > 0) {
      // With less left over than that it would be given up at the next opening.
      const missing = lacking + wanted - (await this.#freeBytes());
      if (missing > 0) throw this.#full(missing);
      await this.#growTo(wanted).catch(async (cause: unknown) => {
        // What it took in vain the catalog may need, which is open.
        await truncate(this.#path, bytes).catch(() => {});
        const error = fileError(cause, this.#path, 'writing');
        throw error instanceof PinakesError && error.code === 'DISK_FULL' ? this.#full(missing) : error;
      });
    }
    this.#sureFor = CHANGES_SURE;
    this.#givenUpBytes = 0;
  }

  /** Gives it up where less is free than it has. */
  async giveUpIfShort(): Promise<void> {
    if ((await this.#freeBytes()) < (await this.#bytes())) await this.giveUp();
  }

  /**
   * Gives it up, and says whether that made room. One that cannot be removed is no reason to do nothing: it may go
   * without.
   */
  async giveUp(): Promise<boolean> {
    const bytes = await this.#bytes();
    if (bytes === 0) return false;
    const isGone = await unlink(this.#path).then(
      () => true,
      () => false,
    );
    if (!isGone) return false;
    this.#sureFor = 0;
    this.#givenUpBytes = bytes;
    return true;
  }

  /** Takes back what was given up, as far as there is room. */
  async takeBack(): Promise<void> {
    // What there is of it is worth having.
    if (this.#givenUpBytes > 0) await this.#growTo(this.#givenUpBytes).catch(() => {});
  }

  async #bytes(): Promise<number> {
    return stat(this.#path).then(
      ({ size }) => size,
      () => 0,
    );
  }

  /** Not every file system tells; there it shows when something is written. */
  async #freeBytes(): Promise<number> {
    const told = await statfs(this.#directory).catch(() => undefined);
    return told && told.blocks > 0 ? told.bavail * told.bsize : Number.POSITIVE_INFINITY;
  }

  async #growTo(bytes: number): Promise<void> {
    const piece = createHash('shake256', { outputLength: MIB }).update(RESERVE_NAME).digest();
    await using file = await open(this.#path, 'a');
    for (let { size } = await file.stat(); size < bytes; )
      size += (await file.write(piece, 0, Math.min(piece.length, bytes - size))).bytesWritten;
  }

  /** A quota shows only when it is met, and nobody says by how much. */
  #full(missingBytes: number): PinakesError {
    const detail = missingBytes > 0 ? `${Math.ceil(missingBytes / MIB)} MiB more have to be free` : '';
    return new PinakesError('ARCHIVE_FULL', { where: this.#directory, detail });
  }
}
