/**
 * A sealed object that is written to a volume of either kind: on a volume with parts, in parts that are joined when it
 * is sealed. What an unfinished copy left under the name is removed first, since nothing refers to it. Its parts have
 * other attempts than those that are found, so that what arrives late of an earlier copy is not mistaken for them.
 */
import { RunningDigest, toHex } from '../../base/index.ts';
import type { SegmentPart } from '../../catalog/index.ts';
import { firstAttemptOf, type SegmentBytes, type SegmentStore } from '../../ledger/index.ts';

/** Bytes of one part, and of one append. */
const PART_BYTES = 16 * 1024 * 1024;

export class ObjectCopy {
  readonly #store: SegmentStore;
  readonly #name: string;
  readonly #attempt: number;
  readonly #parts: SegmentPart[] = [];
  readonly #digest = new RunningDigest('sha256');
  #waiting: Uint8Array[] = [];
  #waitingBytes = 0;
  #bytes = 0;

  private constructor(store: SegmentStore, name: string, attempt: number) {
    this.#store = store;
    this.#name = name;
    this.#attempt = attempt;
  }

  static async begin(store: SegmentStore, name: string): Promise<ObjectCopy> {
    const { object, parts } = await store.find(name);
    await store.remove([...(object ? [name] : []), ...parts.map((part) => part.name)]);
    await store.begin(name);
    // Parts of a copy that was given up may arrive late. Those of this one have other names (P2).
    const highest = Math.max(firstAttemptOf(store.ownerNumber ?? 0), ...parts.map(({ attempt }) => attempt));
    return new ObjectCopy(store, name, highest + 1);
  }

  /** The piece may be used again after the call. */
  async append(piece: Uint8Array): Promise<void> {
    this.#digest.update(piece);
    this.#waiting.push(Uint8Array.from(piece));
    this.#waitingBytes += piece.length;
    if (this.#waitingBytes >= PART_BYTES) await this.#flush();
  }

  /** Makes everything durable, reads it back, and says whether it is what was written. */
  async isAsWritten(): Promise<boolean> {
    await this.#flush();
    await this.#store.sync([this.#name]);
    const read = new RunningDigest('sha256');
    for await (const piece of this.#store.stream(this.#content(), 0, this.#bytes)) read.update(piece);
    return toHex(read.finish().bytes) === toHex(this.#digest.finish().bytes);
  }

  async seal(): Promise<void> {
    await this.#store.seal(this.#content());
    await this.#store.remove(this.#parts.map(({ name }) => name));
  }

  async remove(): Promise<void> {
    await this.#store.remove(this.#store.hasParts ? this.#parts.map(({ name }) => name) : [this.#name]);
  }

  #content(): SegmentBytes {
    const parts = this.#store.hasParts ? { parts: this.#parts } : {};
    return { name: this.#name, state: 'open', bytes: this.#bytes, ...parts };
  }

  async #flush(): Promise<void> {
    if (this.#waitingBytes === 0) return;
    const bytes = this.#waiting;
    const at = this.#bytes;
    this.#bytes += this.#waitingBytes;
    this.#waiting = [];
    this.#waitingBytes = 0;
    const part = await this.#store.append(this.#name, at, bytes, this.#attempt);
    if (part) this.#parts.push(part);
  }
}
