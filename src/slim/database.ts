/**
 * The SQL engine that sorts and joins manifests: DuckDB, in this process, within a fixed amount of memory, spilling to a directory that the
 * caller names. Nothing is kept in it: tables are made from manifests and gone when it is closed.
 */
import type { DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { makeDirectories, PinakesError } from '../base/index.ts';

const MEMORY_MEBIBYTES = 192;
const THREADS = 2;

export class Database {
  readonly #instance: DuckDBInstance;
  readonly #connection: DuckDBConnection;
  readonly #signal: AbortSignal | undefined;
  readonly #interrupt = () => this.#connection.interrupt();

  /** `directory` takes what does not fit into memory. The signal ends also a statement that is under way. */
  static async open(directory: string, signal?: AbortSignal): Promise<Database> {
    await makeDirectories(directory);
    // Loaded when it is needed: the engine is large, and most commands do without it.
    const { DuckDBInstance } = await import('@duckdb/node-api');
    const instance = await DuckDBInstance.create(':memory:', {
      memory_limit: `${MEMORY_MEBIBYTES}MiB`,
      threads: String(THREADS),
      temp_directory: directory,
      preserve_insertion_order: 'false',
    });
    return new Database(instance, await instance.connect(), signal);
  }

  private constructor(instance: DuckDBInstance, connection: DuckDBConnection, signal: AbortSignal | undefined) {
    this.#instance = instance;
    this.#connection = connection;
    this.#signal = signal;
    signal?.addEventListener('abort', this.#interrupt);
  }

  expectUninterrupted(): void {
    this.#signal?.throwIfAborted();
  }

  close(): void {
    this.#signal?.removeEventListener('abort', this.#interrupt);
    this.#connection.closeSync();
    this.#instance.closeSync();
  }

  async run(statement: string): Promise<void> {
    this.expectUninterrupted();
    try {
      await this.#connection.run(statement);
    } catch (cause) {
      throw this.#failure(cause);
    }
  }

  /**
   * The rows of a query, in pieces, so that a result of any size passes through little memory. Only one query at a time.
   *
   * All values of a row come as one text, cut apart here: fetching them one by one costs several times as much. A null is an empty text; values
   * with tabs in them do not occur in manifests.
   */
  async *rows(columns: readonly string[], from: string): AsyncGenerator<string[]> {
    const joined = columns.map((column) => `coalesce((${column})::VARCHAR, '')`).join(` || chr(9) || `);
    this.expectUninterrupted();
    try {
      // The alias keeps an ORDER BY on the columns of the source, not on the joined text.
      const result = await this.#connection.stream(`SELECT ${joined} AS joined_row FROM ${from}`);
      for (;;) {
        const chunk = await result.fetchChunk();
        // A stream that is interrupted ends as if it were whole.
        this.expectUninterrupted();
        if (!chunk || chunk.rowCount === 0) return;
        for (const value of chunk.getColumnValues(0)) {
          yield String(value).split('\t');
          this.expectUninterrupted();
        }
      }
    } catch (cause) {
      throw this.#failure(cause);
    }
  }

  async first(columns: readonly string[], from: string): Promise<string[]> {
    for await (const row of this.rows(columns, from)) return row;
    return [];
  }

  async count(from: string): Promise<number> {
    const [count] = await this.first(['count(*)'], from);
    return Number(count);
  }

  #failure(cause: unknown): unknown {
    return this.#signal?.aborted ? this.#signal.reason : engineError(cause);
  }
}

/** A text as a literal of SQL. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

function engineError(cause: unknown): unknown {
  if (cause instanceof PinakesError || !(cause instanceof Error)) return cause;
  const [message = ''] = cause.message.split('\n');
  const isFull = /no space left|disk full|max_temp_directory_size/i.test(cause.message);
  return new PinakesError(isFull ? 'DISK_FULL' : 'ENGINE_FAILED', { detail: message, cause });
}
