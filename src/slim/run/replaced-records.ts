/**
 * Checks that a slimmed file is its second copy with some responses replaced by revisits: each replaced response has
 * the URI and date of its revisit, and all other bytes of the two files are equal. So requests, metadata and everything
 * else that a manifest does not list is compared too. Whether the revisits have the right contents is for `compare`.
 */
import { type Database, sqlLiteral } from '../database.ts';
import { FileWindow } from '../file-window.ts';
import { linesSource } from '../manifest/manifest-column.ts';
import type { CopyPair } from './copy-pairs.ts';

const PIECE_BYTES = 1024 * 1024;

const PAIR_COLUMNS = [
  { name: 'number', type: 'INTEGER' },
  { name: 'slimmed', type: 'VARCHAR' },
  { name: 'second', type: 'VARCHAR' },
];

/** The text of a file with a line for each pair, from which SQL knows the order of the pairs. */
export function pairLines(pairs: readonly CopyPair[]): string {
  return pairs.map(({ slimmed, second }, number) => `${number}\t${slimmed}\t${second}\n`).join('');
}

export class ReplacedRecords {
  readonly #revisits: RecordCursor;
  readonly #responses: RecordCursor;

  /** `pairsPath` is the file of `pairLines`. The pairs must be checked in their order, each once. */
  constructor(database: Database, slimmedManifest: string, secondManifest: string, pairsPath: string) {
    const rows = (manifest: string, side: 'slimmed' | 'second', type: string) =>
      new RecordCursor(
        database.rows(
          ['p.number', 'm.record_offset', 'm.record_length', 'm.uri', 'm.date'],
          `read_parquet(${sqlLiteral(manifest)}) AS m JOIN ${linesSource([pairsPath], PAIR_COLUMNS)} AS p ON m.file = p.${side}
            WHERE m.type = '${type}' ORDER BY p.number, m.record_offset`,
        ),
      );
    this.#revisits = rows(slimmedManifest, 'slimmed', 'revisit');
    this.#responses = rows(secondManifest, 'second', 'response');
  }

  /** The offset in the slimmed file where the files differ in more than revisits; undefined when they do not. */
  async differsAt(number: number, { slimmed, second }: CopyPair): Promise<number | undefined> {
    using inSlimmed = new FileWindow(slimmed);
    using inSecond = new FileWindow(second);
    let [slimmedAt, secondAt] = [0, 0];
    for (;;) {
      const revisit = await this.#revisits.seek(number, slimmedAt);
      if (revisit?.number !== number) break;
      this.#revisits.skip();
      const offset = secondAt + revisit.offset - slimmedAt;
      const response = await this.#responses.seek(number, offset);
      const isReplaced =
        response?.number === number &&
        response.offset === offset &&
        response.uri === revisit.uri &&
        response.date === revisit.date;
      // Otherwise it was a revisit before, or the comparison of the bytes finds the difference.
      if (!isReplaced) continue;
      const different = firstDifference(inSlimmed, slimmedAt, inSecond, secondAt, revisit.offset - slimmedAt);
      if (different !== undefined) return different;
      slimmedAt = revisit.offset + revisit.length;
      secondAt = offset + response.length;
    }
    return firstDifference(inSlimmed, slimmedAt, inSecond, secondAt, Number.POSITIVE_INFINITY);
  }

  async close(): Promise<void> {
    await this.#revisits.close();
    await this.#responses.close();
  }
}

/** The offset in the first file of the first difference within a length; undefined when there is none. */
function firstDifference(
  first: FileWindow,
  firstAt: number,
  second: FileWindow,
  secondAt: number,
  length: number,
): number | undefined {
  for (let done = 0; done < length; ) {
    const wanted = Math.min(PIECE_BYTES, length - done);
    const [a, b] = [first.readSome(firstAt + done, wanted), second.readSome(secondAt + done, wanted)];
    const bytes = Math.min(a.length, b.length);
    if (bytes === 0) return a.length === b.length && length === Number.POSITIVE_INFINITY ? undefined : firstAt + done;
    if (!a.subarray(0, bytes).equals(b.subarray(0, bytes))) return firstAt + done;
    done += bytes;
  }
  return undefined;
}

type RecordRow = {
  readonly number: number;
  readonly offset: number;
  readonly length: number;
  readonly uri: string;
  readonly date: string;
};

/** Reads rows in the order of pair and offset, forwards only. */
class RecordCursor {
  readonly #rows: AsyncGenerator<string[]>;
  #current: RecordRow | undefined;
  #isAtEnd = false;

  constructor(rows: AsyncGenerator<string[]>) {
    this.#rows = rows;
  }

  /** The first row that is not before this place; it stays the current one. */
  async seek(number: number, offset: number): Promise<RecordRow | undefined> {
    const isBefore = (row: RecordRow) => row.number < number || (row.number === number && row.offset < offset);
    while (!this.#isAtEnd && (!this.#current || isBefore(this.#current))) {
      const { value, done } = await this.#rows.next();
      this.#isAtEnd = done === true;
      this.#current = value === undefined ? undefined : rowOf(value);
    }
    return this.#current;
  }

  skip(): void {
    this.#current = undefined;
  }

  async close(): Promise<void> {
    await this.#rows.return(undefined);
  }
}

function rowOf([number, offset, length, uri = '', date = '']: readonly string[]): RecordRow {
  return { number: Number(number), offset: Number(offset), length: Number(length), uri, date };
}
