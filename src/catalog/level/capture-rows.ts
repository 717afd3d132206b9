/**
 * The rows of captures that a commit reads and changes, and the counts that follow from them: how many captures and
 * revisits there are, and how many captures name each block.
 */
import { fromLatin1 } from '../../base/index.ts';
import { prefixOf } from '../block-codec.ts';
import { type CaptureIdentity, readCaptureIdentity, writeCapture } from '../capture-codec.ts';
import type { Capture } from '../catalog.ts';
import { writeCaptureKey } from '../key-order.ts';
import type { RowWriter } from '../row-bytes.ts';
import { numberKey, TABLE } from '../table.ts';
import { type BlockRows, findOrAddEntry } from './block-rows.ts';
import type { Operations } from './level-database.ts';
import { isWorthNumber, type MimeDictionary, WRITTEN_OUT } from './mime-dictionary.ts';

export class CaptureRows {
  /** Changes of the counts. */
  captures = 0;
  revisits = 0;
  readonly #blocks: BlockRows;
  readonly #mimes: MimeDictionary;
  readonly #writer: RowWriter;
  readonly #newMimes = new Map<string, number>();
  /** By key: the rows that were read or put. */
  readonly #rows = new Map<string, CaptureIdentity>();

  constructor(blocks: BlockRows, mimes: MimeDictionary, writer: RowWriter) {
    this.#blocks = blocks;
    this.#mimes = mimes;
    this.#writer = writer;
  }

  key({ urlKey, time, place }: Capture): Buffer {
    writeCaptureKey(this.#writer, { urlKey, time, segment: place.segment, offset: place.offset });
    return this.#writer.finish();
  }

  /** Takes in rows that were read, and wants the rows of their blocks. */
  take(keys: readonly Buffer[], values: readonly (Buffer | undefined)[]): void {
    for (let index = 0; index < keys.length; index++) {
      const value = values[index];
      if (!value) continue;
      const row = readCaptureIdentity(value);
      if (row.block) this.#blocks.want(prefixOf(row.block.digest));
      this.#rows.set(fromLatin1(keys[index]!), row);
    }
  }

  get(key: Buffer): CaptureIdentity | undefined {
    return this.#rows.get(fromLatin1(key));
  }

  /** Removes a row, and returns it if there was one. */
  remove(operations: Operations, key: Buffer): CaptureIdentity | undefined {
    const row = this.#uncount(key);
    if (row) operations.del(key);
    return row;
  }

  /** Puts a row. `isNew`: the key certainly has no row, and none that this commit puts. */
  put(operations: Operations, key: Buffer, capture: Capture, isNew: boolean): void {
    if (!isNew) this.#uncount(key);
    this.#count(capture);
    if (!isNew) this.#rows.set(fromLatin1(key), capture);
    writeCapture(this.#writer, capture, this.#mimeNumber(capture.mime));
    operations.put(key, this.#writer.finish());
  }

  /** Puts the rows of new media types, and returns these. */
  finish(operations: Operations): string[] {
    for (const [mime, number] of this.#newMimes)
      operations.put(numberKey(TABLE.mimes, number), Buffer.from(mime, 'utf8'));
    return [...this.#newMimes.keys()];
  }

  #uncount(key: Buffer): CaptureIdentity | undefined {
    const id = fromLatin1(key);
    const row = this.#rows.get(id);
    if (!row) return undefined;
    this.#rows.delete(id);
    this.captures--;
    if (row.kind === 'revisit') this.revisits--;
    if (row.block) this.#blocks.entryOf(row.block).captures--;
    return row;
  }

  #count({ kind, block }: Capture): void {
    this.captures++;
    if (kind === 'revisit') this.revisits++;
    if (block) findOrAddEntry(this.#blocks.want(prefixOf(block.digest)), block).captures++;
  }

  #mimeNumber(mime: string): number {
    const known = this.#mimes.numberOf(mime) || this.#newMimes.get(mime);
    if (known) return known;
    const size = this.#mimes.size + this.#newMimes.size;
    if (!isWorthNumber(mime, size)) return WRITTEN_OUT;
    this.#newMimes.set(mime, size + 1);
    return size + 1;
  }
}
