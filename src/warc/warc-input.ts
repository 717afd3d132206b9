/**
 * The WARC and ARC files that a path stands for: itself, or those inside when it is a WACZ. A file inside a package is read where it lies, by
 * range; its records have the offsets they have in it.
 */
import { open } from 'node:fs/promises';
import { extname } from 'node:path';
import { type Finding, fileError } from '../base/index.ts';
import { type ReadingRecord, type ReadOptions, readRecords } from './record-reader.ts';
import { openWacz } from './wacz-reader.ts';

export type WarcInput = {
  /** How findings and lists call it: the path, followed by `!` and the name inside for a file in a package. */
  readonly name: string;
  /** File name without directories, as indexes write it. */
  readonly filename: string;
  readonly read: (options?: Omit<ReadOptions, 'name' | 'range'>) => AsyncGenerator<ReadingRecord>;
};

const ZIP_MAGIC = Buffer.from('PK\x03\x04');

export async function* warcInputs(path: string, onFinding: (finding: Finding) => void): AsyncGenerator<WarcInput> {
  if (!(await isPackage(path))) {
    const filename = path.split('/').pop()!;
    yield { name: path, filename, read: (options = {}) => readRecords(path, options) };
    return;
  }
  const wacz = await openWacz(path, { onFinding });
  try {
    for await (const warc of wacz.warcs()) {
      const name = [path, ...warc.packages, warc.name].join('!');
      const range = { start: warc.offset, length: warc.length };
      yield {
        name,
        filename: warc.name.split('/').pop()!,
        read: (options = {}) =>
          warc.stored ? readRecords(path, { ...options, name, range }) : readRecords(warc.open(), { ...options, name }),
      };
    }
  } finally {
    await wacz.close();
  }
}

async function isPackage(path: string): Promise<boolean> {
  try {
    const handle = await open(path, 'r');
    try {
      const start = Buffer.alloc(4);
      const { bytesRead } = await handle.read(start, 0, 4, 0);
      return start.subarray(0, bytesRead).equals(ZIP_MAGIC) || extname(path).toLowerCase() === '.wacz';
    } finally {
      await handle.close();
    }
  } catch (cause) {
    throw fileError(cause, path);
  }
}
