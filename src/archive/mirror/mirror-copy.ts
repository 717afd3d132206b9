/**
 * Copies bytes into a mirror and remembers what was copied, so that a sync that was killed goes on where it was.
 *
 * ```
 *   mirrors/<name>.jsonl    one line for each object that the mirror has whole and no manifest names yet: a piece
 * ```
 * The lines are in the archive's directory and only save work: an object counts when the mirror lists it with the same
 * length. Every copy is read back and compared before it counts.
 */
import { appendFile, mkdir, readFile, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { PinakesError, RunningDigest, toHex, writingFile } from '../../base/index.ts';
import { ObjectCopy } from '../segment/object-copy.ts';
import type { Piece } from './mirror-manifest.ts';
import type { MirrorTarget } from './mirror-target.ts';

export class MirrorCopy {
  readonly #target: MirrorTarget;
  readonly #journal: string;
  readonly #known = new Map<string, Piece>();
  copied = 0;
  copiedBytes = 0;

  private constructor(target: MirrorTarget, journal: string) {
    this.#target = target;
    this.#journal = journal;
  }

  /** `known`: the pieces that manifests of the mirror name. */
  static async open(target: MirrorTarget, journal: string, known: readonly Piece[]): Promise<MirrorCopy> {
    const copy = new MirrorCopy(target, journal);
    const said = new Map([...known, ...(await readJournal(journal))].map((piece) => [piece[0], piece]));
    for await (const page of target.store.list())
      for (const { name, bytes, sealed } of page) {
        const piece = said.get(name);
        if (piece && sealed && piece[1] === bytes) copy.#known.set(name, piece);
      }
    return copy;
  }

  /** The piece if the mirror has it already. */
  find(object: string, bytes: number): Piece | undefined {
    const piece = this.#known.get(object);
    return piece?.[1] === bytes ? piece : undefined;
  }

  /** Copies bytes under a name. Fails when there are more or fewer of them than expected. */
  async write(object: string, bytes: number, source: AsyncIterable<Uint8Array>): Promise<Piece> {
    const copy = await ObjectCopy.begin(this.#target.store, object);
    const digest = new RunningDigest('sha256');
    let length = 0;
    try {
      for await (const piece of source) {
        length += piece.length;
        digest.update(piece);
        await copy.append(piece);
      }
      if (length !== bytes)
        throw new PinakesError('OBJECT_MOVED', { where: object, detail: `${length} bytes instead of ${bytes}` });
      if (!(await copy.isAsWritten()))
        throw new PinakesError('MIRROR_DAMAGED', { where: this.#target.where, detail: `${object} reads otherwise` });
      await copy.seal();
    } catch (error) {
      await copy.remove().catch(() => {});
      throw error;
    }
    const piece: Piece = [object, bytes, toHex(digest.finish().bytes)];
    await this.#note(piece);
    this.copied++;
    this.copiedBytes += bytes;
    return piece;
  }

  /** Forgets the lines: a manifest names all of it. */
  async end(): Promise<void> {
    await rm(this.#journal, { force: true });
  }

  async #note(piece: Piece): Promise<void> {
    this.#known.set(piece[0], piece);
    await writingFile(this.#journal, async () => {
      await mkdir(dirname(this.#journal), { recursive: true });
      await appendFile(this.#journal, `${JSON.stringify(piece)}\n`);
    });
  }
}

/** A line that a crash cut off is left out. */
async function readJournal(path: string): Promise<Piece[]> {
  const text = await readFile(path, 'utf8').catch(() => '');
  return text.split('\n').flatMap((line) => {
    try {
      const piece: unknown = JSON.parse(line);
      return Array.isArray(piece) && piece.length === 3 ? [piece as unknown as Piece] : [];
    } catch {
      return [];
    }
  });
}
