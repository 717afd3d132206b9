/**
 * The SQL engine that sorts and joins manifests: DuckDB in this process, with a fixed memory limit (I9). The engine
 * spills to a directory of the caller. The database is temporary: its tables are made from manifests, and are gone when
 * it is closed.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { makeDirectories, PinakesError } from '../base/index.ts';
import { readLines } from './text-lines.ts';

const MEMORY_MEBIBYTES = 192;
/**
 * Each sorting thread needs memory of its own. With a second thread, a few hundred thousand rows with long URIs do not
 * fit into the limit.
 */
const THREADS = 1;

/**
 * Options for writing Parquet. A reader holds whole row groups in memory, and URIs can be long, so groups are small.
 */
export const PARQUET = 'FORMAT parquet, ROW_GROUP_SIZE 4096';

export class Database {
  readonly #instance: DuckDBInstance;
  readonly #connection: DuckDBConnection;
  readonly #directory: string;
  readonly #signal: AbortSignal | undefined;
  readonly #interrupt = () => this.#connection.interrupt();
  #results = 0;

  /**
   * `directory` takes the data that does not fit into memory, and query results. The signal also interrupts a running
   * statement.
   */
  static async open(directory: string, signal?: AbortSignal): Promise<Database> {
    await makeDirectories(directory);
    // Loaded only here: the engine is large, and most commands do not need it.
    const { DuckDBInstance } = await import('@duckdb/node-api');
    const instance = await DuckDBInstance.create(':memory:', {
      memory_limit: `${MEMORY_MEBIBYTES}MiB`,
      threads: String(THREADS),
      temp_directory: directory,
      preserve_insertion_order: 'false',
    });
    return new Database(instance, await instance.connect(), directory, signal);
  }

  private constructor(
    instance: DuckDBInstance,
    connection: DuckDBConnection,
    directory: string,
    signal: AbortSignal | undefined,
  ) {
    this.#instance = instance;
    this.#connection = connection;
    this.#directory = directory;
    this.#signal = signal;
    signal?.addEventListener('abort', this.#interrupt);
  }

  throwIfInterrupted(): void {
    this.#signal?.throwIfAborted();
  }

  [Symbol.dispose](): void {
    this.#signal?.removeEventListener('abort', this.#interrupt);
    this.#connection.closeSync();
    this.#instance.closeSync();
  }

  async run(statement: string): Promise<void> {
    this.throwIfInterrupted();
    try {
      await this.#connection.run(statement);
    } catch (cause) {
      throw this.#failure(cause);
    }
  }

  /**
   * The rows of a query, one after another, so that a result of any size needs little memory (I9).
   *
   * The rows are written to a file first. When the engine fails while it streams a result, the stream simply ends, as
   * if the result were complete.
   *
   * All values of a row are fetched as one text and split here: fetching the values one by one costs several times as
   * much. A null becomes an empty text; values in manifests do not contain tabs.
   */
  async *rows(columns: readonly string[], from: string): AsyncGenerator<string[]> {
    const path = join(this.#directory, `rows-${this.#results++}.txt`);
    try {
      await this.run(
        `COPY (${rowQuery(columns, from)}) TO ${sqlLiteral(path)} (FORMAT csv, HEADER false, DELIMITER '', QUOTE '', ESCAPE '')`,
      );
      for await (const line of readLines(path)) {
        this.throwIfInterrupted();
        yield valuesOf(line);
      }
    } finally {
      rmSync(path, { force: true });
    }
  }

  async first(columns: readonly string[], from: string): Promise<string[]> {
    this.throwIfInterrupted();
    try {
      const result = await this.#connection.runAndReadAll(`${rowQuery(columns, from)} LIMIT 1`);
      const [row] = result.getRows();
      return row ? valuesOf(String(row[0])) : [];
    } catch (cause) {
      throw this.#failure(cause);
    }
  }

  async count(from: string): Promise<number> {
    const [count] = await this.first(['count(*)'], from);
    return Number(count);
  }

  #failure(cause: unknown): unknown {
    return this.#signal?.aborted ? this.#signal.reason : engineError(cause);
  }
}

/** Replaces line ends within a value. */
const LINE_END = '\x1e';

/**
 * A query that returns each row as one text without line ends. Because of the alias, an ORDER BY refers to the columns
 * of the source and not to this text.
 */
function rowQuery(columns: readonly string[], from: string): string {
  const joined = columns.map((column) => `coalesce((${column})::VARCHAR, '')`).join(` || chr(9) || `);
  return `SELECT replace(${joined}, chr(10), chr(${LINE_END.charCodeAt(0)})) AS joined_row FROM ${from}`;
}

function valuesOf(line: string): string[] {
  return (line.includes(LINE_END) ? line.replaceAll(LINE_END, '\n') : line).split('\t');
}

/** The text as an SQL string literal. */
export function sqlLiteral(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

function engineError(cause: unknown): unknown {
  if (cause instanceof PinakesError || !(cause instanceof Error)) return cause;
  const [message = ''] = cause.message.split('\n');
  const isFull = /no space left|disk full|max_temp_directory_size/i.test(cause.message);
  return new PinakesError(isFull ? 'DISK_FULL' : 'ENGINE_FAILED', { detail: message, cause });
}
