/**
 * Bytes that can be read at any position: a file, a part of another source, or memory. Readers of a WACZ or a sorted
 * index need only this, so a package inside another one, or later a remote file, is read the same way.
 */
import { type FileHandle, open } from 'node:fs/promises';
import { fileError, PinakesError, READ_CHUNK_BYTES } from '../../base/index.ts';

export interface ByteSource {
  /** Name of the source in findings. The offsets of findings count from the beginning of the source. */
  readonly name: string;
  readonly size: number;
  /** The file that contains it, and its offset in that file. */
  readonly file: string;
  readonly fileOffset: number;
  /** The bytes at a position; fewer than `length` only where the source ends. */
  read(position: number, length: number): Promise<Uint8Array>;
  close(): Promise<void>;
}

export class FileByteSource implements ByteSource {
  readonly name: string;
  readonly size: number;
  readonly file: string;
  readonly fileOffset = 0;
  readonly #handle: FileHandle;

  private constructor(name: string, size: number, handle: FileHandle) {
    this.name = name;
    this.size = size;
    this.file = name;
    this.#handle = handle;
  }

  static async open(path: string): Promise<FileByteSource> {
    try {
      const handle = await open(path, 'r');
      const status = await handle.stat();
      if (status.isDirectory()) {
        await handle.close();
        throw new PinakesError('FILE_IS_DIRECTORY', { where: path });
      }
      return new FileByteSource(path, status.size, handle);
    } catch (error) {
      throw fileError(error, path);
    }
  }

  async read(position: number, length: number): Promise<Uint8Array> {
    const wanted = Math.max(0, Math.min(length, this.size - position));
    const buffer = Buffer.allocUnsafe(wanted);
    let filled = 0;
    try {
      while (filled < wanted) {
        const { bytesRead } = await this.#handle.read(buffer, filled, wanted - filled, position + filled);
        if (bytesRead === 0) break;
        filled += bytesRead;
      }
    } catch (error) {
      throw fileError(error, this.name);
    }
    return filled === wanted ? buffer : buffer.subarray(0, filled);
  }

  async close(): Promise<void> {
    await this.#handle.close();
  }
}

/** A part of another source. Closing it does not close the other source. */
export class SliceByteSource implements ByteSource {
  readonly name: string;
  readonly size: number;
  readonly file: string;
  readonly fileOffset: number;
  readonly #whole: ByteSource;
  readonly #start: number;

  constructor(name: string, whole: ByteSource, start: number, size: number) {
    this.name = name;
    this.size = Math.max(0, Math.min(size, whole.size - start));
    this.file = whole.file;
    this.fileOffset = whole.fileOffset + start;
    this.#whole = whole;
    this.#start = start;
  }

  async read(position: number, length: number): Promise<Uint8Array> {
    return this.#whole.read(this.#start + position, Math.max(0, Math.min(length, this.size - position)));
  }

  async close(): Promise<void> {}
}

export class MemoryByteSource implements ByteSource {
  readonly name: string;
  readonly size: number;
  readonly file: string;
  readonly fileOffset = 0;
  readonly #bytes: Uint8Array;

  constructor(name: string, bytes: Uint8Array) {
    this.name = name;
    this.size = bytes.length;
    this.file = name;
    this.#bytes = bytes;
  }

  async read(position: number, length: number): Promise<Uint8Array> {
    return this.#bytes.subarray(position, Math.min(this.size, position + length));
  }

  async close(): Promise<void> {}
}

/** The bytes from `start` to `end` in pieces. */
export async function* streamSource(source: ByteSource, start = 0, end = source.size): AsyncGenerator<Uint8Array> {
  for (let at = start; at < end; ) {
    const piece = await source.read(at, Math.min(READ_CHUNK_BYTES, end - at));
    if (piece.length === 0) return;
    yield piece;
    at += piece.length;
  }
}
