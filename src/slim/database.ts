/**
 * The SQL engine that sorts and joins manifests: DuckDB, in this process, within a fixed amount of memory, spilling to
 * a directory that the caller names. Nothing is kept in it: tables are made from manifests and gone when it is closed.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { makeDirectories, PinakesError } from '../base/index.ts';
import { linesOf } from './text-lines.ts';

const MEMORY_MEBIBYTES = 192;
/**
 * Each thread that sorts needs memory of its own: with a second one, a few hundred thousand rows with long addresses do
 * not fit.
 */
const THREADS = 1;

/** How the engine writes its tables. Who reads them holds whole groups of rows in memory, and addresses can be long. */
export const PARQUET = 'FORMAT parquet, ROW_GROUP_SIZE 4096';

export class Database {
  readonly #instance: DuckDBInstance;
  readonly #connection: DuckDBConnection;
  readonly #directory: string;
  readonly #signal: AbortSignal | undefined;
  readonly #interrupt = () => this.#connection.interrupt();
  #results = 0;

  /**
   * `directory` takes what does not fit into memory, and results on their way. The signal ends also a statement that is
   * under way.
   */
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
   * The rows of a query, in pieces, so that a result of any size passes through little memory.
   *
   * They are written to a file first: a result that the engine streams ends without a word where the engine fails on
   * the way, as if it were whole.
   *
   * All values of a row come as one text, cut apart here: fetching them one by one costs several times as much. A null
   * is an empty text; values with tabs in them do not occur in manifests.
   */
  async *rows(columns: readonly string[], from: string): AsyncGenerator<string[]> {
    const path = join(this.#directory, `rows-${this.#results++}.txt`);
    try {
      await this.run(
        `COPY (${rowQuery(columns, from)}) TO ${quoted(path)} (FORMAT csv, HEADER false, DELIMITER '', QUOTE '', ESCAPE '')`,
      );
      for await (const line of linesOf(path)) {
        this.expectUninterrupted();
        yield valuesOf(line);
      }
    } finally {
      rmSync(path, { force: true });
    }
  }

  async first(columns: readonly string[], from: string): Promise<string[]> {
    this.expectUninterrupted();
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

/** Stands for the end of a line within a value. */
const LINE_END = '\x1e';

/**
 * A row as one text without ends of lines. The alias keeps an ORDER BY on the columns of the source, not on this text.
 */
function rowQuery(columns: readonly string[], from: string): string {
  const joined = columns.map((column) => `coalesce((${column})::VARCHAR, '')`).join(` || chr(9) || `);
  return `SELECT replace(${joined}, chr(10), chr(${LINE_END.charCodeAt(0)})) AS joined_row FROM ${from}`;
}

function valuesOf(line: string): string[] {
  return (line.includes(LINE_END) ? line.replaceAll(LINE_END, '\n') : line).split('\t');
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
