/**
 * The writer of the index on a separate thread. Reading HTML and filling the full-text tables can take seconds of
 * processor time, which must not block a server.
 */
import type { IndexEntry } from '../index-entry.ts';
import { ThreadCalls } from '../thread-calls.ts';
import type { IndexWriter } from './index-writer.ts';

/** The methods of an index writer, on this thread or on another one. */
export type IndexWriterMethods = { readonly [Method in keyof IndexWriter]: IndexWriter[Method] };

export class IndexThread implements IndexWriterMethods {
  readonly #calls: ThreadCalls;

  private constructor(calls: ThreadCalls) {
    this.#calls = calls;
  }

  static async start(path: string, documentMemory: number | undefined): Promise<IndexThread> {
    const script = new URL('./index-worker.ts', import.meta.url);
    return new IndexThread(await ThreadCalls.open(script, { path, documentMemory }));
  }

  /** Transfers the payloads to the thread, so that large payloads are not in memory twice. */
  add(...values: Parameters<IndexWriter['add']>): ReturnType<IndexWriter['add']> {
    return this.#calls.call('add', values, payloadBuffers(values[0]));
  }

  commit(...values: Parameters<IndexWriter['commit']>): Promise<void> {
    return this.#calls.call('commit', values);
  }

  rollBack(): Promise<void> {
    return this.#calls.call('rollBack', []);
  }

  remove(...values: Parameters<IndexWriter['remove']>): Promise<number> {
    return this.#calls.call('remove', values);
  }

  removeSegment(...values: Parameters<IndexWriter['removeSegment']>): Promise<number> {
    return this.#calls.call('removeSegment', values);
  }

  move(...values: Parameters<IndexWriter['move']>): Promise<void> {
    return this.#calls.call('move', values);
  }

  unassignCaptures(): Promise<void> {
    return this.#calls.call('unassignCaptures', []);
  }

  setSegments(...values: Parameters<IndexWriter['setSegments']>): Promise<void> {
    return this.#calls.call('setSegments', values);
  }

  setUnresolved(...values: Parameters<IndexWriter['setUnresolved']>): Promise<void> {
    return this.#calls.call('setUnresolved', values);
  }

  purge(): Promise<void> {
    return this.#calls.call('purge', []);
  }

  rank(...values: Parameters<IndexWriter['rank']>): ReturnType<IndexWriter['rank']> {
    return this.#calls.call('rank', values);
  }

  abandon(): Promise<void> {
    return this.#calls.abandon();
  }

  close(): Promise<void> {
    return this.#calls.close();
  }
}

/** The buffers of payloads that do not share their buffer. */
function payloadBuffers(entries: readonly IndexEntry[]): ArrayBuffer[] {
  return entries.flatMap(({ content }) => {
    const { buffer, byteLength } = content?.payload ?? {};
    return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? [buffer] : [];
  });
}
