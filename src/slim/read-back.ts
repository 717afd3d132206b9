/**
 * Reads a rewritten file back before it takes the place of the old one: every byte that was kept is compared with the old file, and every revisit
 * is decoded, and must have the head that was meant and the block that its digest names.
 */
import { closeSync, openSync, readSync } from 'node:fs';
import { digestOf, fileError, formatDigest, PinakesError } from '../base/index.ts';
import { type DecodedRecord, RecordDecoder, readFileStart } from '../warc/index.ts';
import { headTag, type ReplacementLog } from './replacement-log.ts';

const BUFFER_BYTES = 1024 * 1024;

/** Throws SLIM_READ_BACK at the first difference. */
export function readBack(oldPath: string, oldBytes: number, newPath: string, log: ReplacementLog): void {
  const { dictionary } = readFileStart(newPath);
  const decoder = new RecordDecoder();
  const comparer = new RangeComparer(oldPath, newPath);
  try {
    let oldAt = 0;
    let newAt = 0;
    for (const entries of log.read()) {
      for (const { oldOffset, oldLength, newLength, headTag } of entries) {
        comparer.compare(oldAt, newAt, oldOffset - oldAt);
        newAt += oldOffset - oldAt;
        const record = decoder.decode(comparer.read(newAt, newLength), dictionary);
        if (!record || !isRight(record, headTag)) throw readBackError(newPath, newAt);
        newAt += newLength;
        oldAt = oldOffset + oldLength;
      }
    }
    comparer.compare(oldAt, newAt, oldBytes - oldAt);
    comparer.expectEnd(newAt + oldBytes - oldAt);
  } finally {
    decoder.close();
    comparer.close();
  }
}

function isRight({ head, block }: DecodedRecord, tag: bigint): boolean {
  return (
    head.type === 'revisit' &&
    headTag(head.bytes) === tag &&
    head.get('warc-block-digest') === formatDigest(digestOf('sha256', block))
  );
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

  /** Bytes of the new file; good until the next call. */
  read(offset: number, length: number): Buffer {
    const buffer = length <= BUFFER_BYTES ? this.#newBuffer : Buffer.allocUnsafeSlow(length);
    return this.#fill(this.#new, this.#newPath, buffer, offset, length);
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
