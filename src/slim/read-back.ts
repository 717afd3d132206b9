/**
 * Reads a rewritten file back before it takes the place of the old one: every byte that was kept is compared with the old file, and every revisit
 * is decoded, and must have the head that was meant and the block that its digest names.
 */
import { closeSync, openSync, readSync } from 'node:fs';
import { fileError, formatDigest, PinakesError } from '../base/index.ts';
import { headTag, type Replacement, type ReplacementLog } from './replacement-log.ts';
import { SpanReader } from './span-reader.ts';

const BUFFER_BYTES = 1024 * 1024;

/** Throws SLIM_READ_BACK at the first difference. */
export function readBack(oldPath: string, oldBytes: number, newPath: string, log: ReplacementLog): void {
  const reader = new SpanReader(newPath);
  const comparer = new RangeComparer(oldPath, newPath);
  try {
    let oldAt = 0;
    let newAt = 0;
    for (const entries of log.read()) {
      const spans: { offset: number; length: number }[] = [];
      for (const { oldOffset, oldLength, newLength } of entries) {
        comparer.compare(oldAt, newAt, oldOffset - oldAt);
        newAt += oldOffset - oldAt;
        spans.push({ offset: newAt, length: newLength });
        newAt += newLength;
        oldAt = oldOffset + oldLength;
      }
      checkRevisits(reader, spans, entries);
    }
    comparer.compare(oldAt, newAt, oldBytes - oldAt);
    comparer.expectEnd(newAt + oldBytes - oldAt);
  } finally {
    reader.close();
    comparer.close();
  }
}

function checkRevisits(
  reader: SpanReader,
  spans: readonly { offset: number; length: number }[],
  entries: readonly Replacement[],
): void {
  reader.read(spans, {
    wants: () => ({ block: ['sha256'] }),
    onRecord: (index, record) => {
      const isRight =
        record !== undefined &&
        record.head.type === 'revisit' &&
        headTag(record.head.bytes) === entries[index]!.headTag &&
        record.head.get('warc-block-digest') === formatDigest(record.facts.blockDigests[0]!);
      if (!isRight) throw readBackError(reader.path, spans[index]!.offset);
    },
  });
}

class RangeComparer {
  readonly #oldPath: string;
  readonly #newPath: string;
  readonly #old: number;
  readonly #new: number;
  readonly #oldBuffer = Buffer.allocUnsafeSlow(BUFFER_BYTES);
  readonly #newBuffer = Buffer.allocUnsafeSlow(BUFFER_BYTES);

  constructor(oldPath: string, newPath: string) {
    this.#oldPath = oldPath;
    this.#newPath = newPath;
    this.#old = openSync(oldPath, 'r');
    this.#new = openSync(newPath, 'r');
  }

  close(): void {
    closeSync(this.#old);
    closeSync(this.#new);
  }

  compare(oldOffset: number, newOffset: number, length: number): void {
    for (let at = 0; at < length; ) {
      const wanted = Math.min(BUFFER_BYTES, length - at);
      const oldBytes = this.#fill(this.#old, this.#oldPath, this.#oldBuffer, oldOffset + at, wanted);
      const newBytes = this.#fill(this.#new, this.#newPath, this.#newBuffer, newOffset + at, wanted);
      if (!oldBytes.equals(newBytes)) throw readBackError(this.#newPath, newOffset + at);
      at += wanted;
    }
  }

  expectEnd(offset: number): void {
    if (readSync(this.#new, this.#newBuffer, 0, 1, offset) !== 0) throw readBackError(this.#newPath, offset);
  }

  #fill(descriptor: number, path: string, buffer: Buffer, position: number, wanted: number): Buffer {
    try {
      let filled = 0;
      while (filled < wanted) {
        const bytes = readSync(descriptor, buffer, filled, wanted - filled, position + filled);
        if (bytes === 0) throw readBackError(path, position + filled);
        filled += bytes;
      }
      return buffer.subarray(0, filled);
    } catch (cause) {
      throw fileError(cause, path);
    }
  }
}

function readBackError(path: string, offset: number): PinakesError {
  return new PinakesError('SLIM_READ_BACK', { where: `${path}:${offset}` });
}
