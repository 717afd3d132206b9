/**
 * The SQL engine that sorts and joins manifests: DuckDB, in this process, within a fixed amount of memory, spilling to a directory that the
 * caller names. Nothing is kept in it: tables are made from manifests and gone when it is closed.
 */
import { mkdir } from 'node:fs/promises';
import type { DuckDBConnection, DuckDBInstance, DuckDBValue } from '@duckdb/node-api';
import { PinakesError } from '../base/index.ts';

const MEMORY_MEBIBYTES = 256;
const THREADS = 2;

/** A value as the statements of this room give it: numbers are cast to DOUBLE, so no big integers come. */
export type SqlValue = string | number | boolean | null;

export class Database {
  readonly #instance: DuckDBInstance;
  readonly #connection: DuckDBConnection;

  /** `directory` takes what does not fit into memory. */
  static async open(directory: string): Promise<Database> {
    await mkdir(directory, { recursive: true });
    // Loaded when it is needed: the engine is large, and most commands do without it.
    const { DuckDBInstance } = await import('@duckdb/node-api');
    const instance = await DuckDBInstance.create(':memory:', {
      memory_limit: `${MEMORY_MEBIBYTES}MiB`,
      threads: String(THREADS),
      temp_directory: directory,
      preserve_insertion_order: 'false',
    });
    return new Database(instance, await instance.connect());
  }

  private constructor(instance: DuckDBInstance, connection: DuckDBConnection) {
    this.#instance = instance;
    this.#connection = connection;
  }

  close(): void {
    this.#connection.closeSync();
    this.#instance.closeSync();
  }

  async run(statement: string): Promise<void> {
    try {
      await this.#connection.run(statement);
    } catch (cause) {
      throw engineError(cause);
    }
  }

  /** The rows of a query, in pieces, so that a result of any size passes through little memory. Only one at a time. */
  async *rows(query: string): AsyncGenerator<SqlValue[]> {
    try {
      const result = await this.#connection.stream(query);
      for (;;) {
        const chunk = await result.fetchChunk();
        if (!chunk || chunk.rowCount === 0) return;
        for (const row of chunk.getRows()) yield row.map(plain);
      }
    } catch (cause) {
      throw engineError(cause);
    }
  }

  async first(query: string): Promise<SqlValue[]> {
    for await (const row of this.rows(query)) return row;
    return [];
  }
}

function plain(value: DuckDBValue): SqlValue {
  if (value === null || typeof value === 'string' || typeof value === 'boolean' || typeof value === 'number')
    return value;
  return typeof value === 'bigint' ? Number(value) : String(value);
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
