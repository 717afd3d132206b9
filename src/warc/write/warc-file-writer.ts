/**
 * Writes a WARC file: first under a temporary name, then synced, then renamed. So the final name never holds an
 * incomplete file.
 */
import { type FileHandle, open, rename, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { fileError, refuseExisting, syncDirectory } from '../../base/index.ts';
import {
  fieldsOf,
  headBytes,
  type NewRecord,
  recordParts,
  recordStream,
  type StreamedBlock,
} from '../record/new-record.ts';
import { type EncoderOptions, MemberEncoder } from './member-encoder.ts';

const BUFFER_BYTES = 1024 * 1024;

export type WrittenRecord = { readonly offset: number; readonly length: number };

export class WarcFileWriter {
  readonly path: string;
  readonly #temporary: string;
  readonly #encoder: MemberEncoder;
  readonly #handle: FileHandle;
  #pending: Uint8Array[] = [];
  #pendingBytes = 0;
  #written = 0;
  #isFinished = false;

  static async create(path: string, options: EncoderOptions & { force?: boolean }): Promise<WarcFileWriter> {
    const temporary = `${path}.tmp`;
    let isReserved = false;
    await refuseExisting(path, options.force);
    try {
      if (!options.force) await (await open(path, 'wx')).close();
      isReserved = !options.force;
      return new WarcFileWriter(path, temporary, new MemberEncoder(options), await open(temporary, 'w'));
    } catch (cause) {
      if (isReserved) await unlink(path).catch(() => {});
      throw fileError(cause, path, 'writing');
    }
  }

  private constructor(path: string, temporary: string, encoder: MemberEncoder, handle: FileHandle) {
    this.path = path;
    this.#temporary = temporary;
    this.#encoder = encoder;
    this.#handle = handle;
    this.#queue(encoder.fileStart());
  }

  /** Bytes written so far: the offset of the next record. */
  get offset(): number {
    return this.#written + this.#pendingBytes;
  }

  /** The path of the file until it is finished. */
  get temporaryPath(): string {
    return this.#temporary;
  }

  async write(record: NewRecord, block: Uint8Array): Promise<WrittenRecord> {
    return this.writeParts(recordParts(record, block));
  }

  async writeStream(record: NewRecord, block: StreamedBlock): Promise<WrittenRecord> {
    return this.writeStreamParts(headBytes(fieldsOf(record, block.length)), block);
  }

  /** Writes a record with a head and a trailer made by the caller. */
  async writeParts(parts: readonly Uint8Array[]): Promise<WrittenRecord> {
    const offset = this.offset;
    this.#queue(this.#encoder.encode(parts));
    if (this.#pendingBytes >= BUFFER_BYTES) await this.#flush();
    return { offset, length: this.offset - offset };
  }

  async writeStreamParts(head: Uint8Array, block: StreamedBlock): Promise<WrittenRecord> {
    const offset = this.offset;
    const { length, pieces } = recordStream(head, block);
    for await (const piece of this.#encoder.encodeStream(pieces, length)) {
      this.#queue(piece);
      if (this.#pendingBytes >= BUFFER_BYTES) await this.#flush();
    }
    return { offset, length: this.offset - offset };
  }

  /** Writes a member that is already encoded. */
  async writeMember(member: Uint8Array): Promise<WrittenRecord> {
    const offset = this.offset;
    this.#queue(Buffer.from(member));
    if (this.#pendingBytes >= BUFFER_BYTES) await this.#flush();
    return { offset, length: member.length };
  }

  /** Makes everything durable under the temporary name. The file can be read back before `finish`. */
  async sync(): Promise<void> {
    await this.#flush();
    await this.#guarded(() => this.#handle.sync());
  }

  /** Makes the file durable under its final name. */
  async finish(): Promise<void> {
    await this.sync();
    await this.#guarded(() => this.#handle.close());
    this.#encoder.close();
    await this.#guarded(() => rename(this.#temporary, this.path));
    this.#isFinished = true;
    await syncDirectory(dirname(this.path));
  }

  /** Removes all files, unless the file was finished: then it stays. */
  async discard(options: { force?: boolean } = {}): Promise<void> {
    if (this.#isFinished) return;
    await this.#handle.close().catch(() => {});
    this.#encoder.close();
    await unlink(this.#temporary).catch(() => {});
    if (!options.force) await unlink(this.path).catch(() => {});
  }

  #queue(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.#pending.push(bytes);
    this.#pendingBytes += bytes.length;
  }

  async #flush(): Promise<void> {
    if (this.#pendingBytes === 0) return;
    const bytes = Buffer.concat(this.#pending);
    this.#pending = [];
    this.#pendingBytes = 0;
    await this.#guarded(async () => {
      for (let at = 0; at < bytes.length; ) {
        at += (await this.#handle.write(bytes, at, bytes.length - at)).bytesWritten;
      }
    });
    this.#written += bytes.length;
  }

  async #guarded(operation: () => Promise<void>): Promise<void> {
    try {
      await operation();
    } catch (cause) {
      throw fileError(cause, this.path, 'writing');
    }
  }
}
