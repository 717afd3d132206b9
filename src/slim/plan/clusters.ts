/**
 * Finds clusters of equal records by SQL (see resolve-statement.ts). When contents are compared by bytes, every record
 * of a cluster is compared with its original. Records that differ get the next extension and form new clusters, until
 * no record differs.
 */
import type { Finding } from '../../base/index.ts';
import { type Database, PARQUET, sqlLiteral } from '../database.ts';
import { slimFinding } from '../finding-catalogue.ts';
import { mapInOrder, type SlimPool } from '../slim-pool.ts';
import type { PayloadComparison, PayloadPlace } from './payload-comparison.ts';
import { RECORD_FINGERPRINT } from './reference-notes.ts';
import { REFERENCED_STATEMENT, RESOLVE_STATEMENT } from './resolve-statement.ts';

/** A record that will become a revisit, with its original. */
export type Duplicate = {
  readonly file: string;
  readonly offset: number;
  readonly length: number;
  readonly uri: string;
  readonly date: string;
  readonly digest: string;
  readonly payloadBytes: number | null;
  /** Empty when the manifest does not name it. */
  readonly originalFile: string;
  readonly originalOffset: number;
  readonly originalLength: number;
  readonly originalUri: string;
  readonly originalDate: string;
  readonly originalRecordId: string;
  readonly originalDeclaredDigest: string;
};

type RowOf<Length extends number, Row extends string[] = []> = Row['length'] extends Length
  ? Row
  : RowOf<Length, [...Row, string]>;

const PAIRS_PER_TASK = 64;
const KEYS_PER_PART = 1_000_000;

/** Selects the rows of records that contain a content. */
const HAS_CONTENT = "type IN ('response', 'resource', 'conversion')";

export class Clusters {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * Creates the tables that `selectPart` reads: excluded files, places and ids that are ambiguous, records that others
   * refer to, and the extensions found so far.
   */
  async prepare(): Promise<void> {
    await this.#database.run('CREATE OR REPLACE TEMP TABLE aside (file VARCHAR)');
    await prepareReferenced(this.#database);
    await this.#database.run('CREATE OR REPLACE TEMP TABLE ambiguous_place (place UBIGINT)');
    await this.#database.run('CREATE OR REPLACE TEMP TABLE ambiguous_id (id UBIGINT)');
    await this.#database.run(
      'CREATE OR REPLACE TEMP TABLE collision (file VARCHAR, record_offset BIGINT, extension INTEGER)',
    );
  }

  /** Excludes the records of these files. */
  async excludeFiles(files: readonly string[]): Promise<void> {
    for (let at = 0; at < files.length; at += 1000) {
      const values = files.slice(at, at + 1000).map((file) => `(${sqlLiteral(file)})`);
      await this.#database.run(`INSERT INTO aside VALUES ${values.join(', ')}`);
    }
  }

  /**
   * Finds ambiguous references: a URI and second, or a record id, that belongs to several contents. The keys are hashed
   * and processed in parts, so that memory is bounded (I9). Two keys with the same hash only make more keys ambiguous.
   */
  async findAmbiguous(source: string, keysPath: string): Promise<void> {
    await this.#database.run(`COPY (
      SELECT hash(uri, time_ms // 1000) AS place, hash(record_id) AS id, record_id IS NOT NULL AS has_id,
        time_ms IS NOT NULL AS has_place, hash(digest, payload_bytes) AS content
      FROM ${source} WHERE ${HAS_CONTENT}
    ) TO ${sqlLiteral(keysPath)} (${PARQUET})`);
    const keys = `read_parquet(${sqlLiteral(keysPath)})`;
    const parts = Math.ceil(((await this.#database.count(keys)) + 1) / KEYS_PER_PART);
    for (let part = 0; part < parts; part++) {
      for (const key of ['place', 'id']) {
        await this.#database.run(`INSERT INTO ambiguous_${key} SELECT ${key} FROM ${keys}
          WHERE has_${key} AND ${key} % ${parts} = ${part} GROUP BY ${key} HAVING min(content) <> max(content)`);
      }
    }
  }

  /** The rows of `source`, with `holds` and `yields` false for ambiguous records. */
  withoutAmbiguous(source: string): string {
    const isAmbiguous = `(hash(uri, time_ms // 1000) IN (SELECT place FROM ambiguous_place) OR hash(record_id) IN (SELECT id FROM ambiguous_id))`;
    return `(SELECT * REPLACE (holds AND NOT ${isAmbiguous} AS holds, yields AND NOT ${isAmbiguous} AS yields) FROM ${source})`;
  }

  /** Adds the records that files elsewhere refer to, by the notes of earlier runs (see reference-notes.ts). */
  async findNoted(source: string, noted: string): Promise<void> {
    await this.#database.run(`INSERT INTO referenced
      SELECT m.file, m.record_offset, m.digest, false FROM ${source} AS m SEMI JOIN ${noted} AS l ON l.fingerprint = ${RECORD_FINGERPRINT} WHERE m.yields`);
  }

  /** Makes one part of the manifest the view `manifest`. No cluster may reach beyond this part. */
  async selectPart(source: string): Promise<void> {
    await this.#database.run('DELETE FROM collision');
    await this.#database.run(`CREATE OR REPLACE TEMP VIEW manifest AS
      SELECT m.* REPLACE (
        m.yields AND NOT EXISTS (
          SELECT 1 FROM referenced AS r WHERE r.file = m.file AND r.record_offset = m.record_offset
        ) AS yields,
        m.holds AND NOT EXISTS (
          SELECT 1 FROM referenced AS r WHERE r.is_answer AND r.file = m.file AND r.record_offset = m.record_offset
        ) AS holds,
        coalesce(c.extension, m.extension, 0) AS extension
      )
      FROM ${source} AS m
      ANTI JOIN aside AS a ON a.file = m.file
      ANTI JOIN ambiguous_place AS p ON p.place = hash(m.uri, m.time_ms // 1000)
      ANTI JOIN ambiguous_id AS i ON i.id = hash(m.record_id)
      LEFT JOIN collision AS c ON c.file = m.file AND c.record_offset = m.record_offset`);
  }

  /**
   * Compares payloads until every cluster has one content (I7). Returns how many records had the digest of another
   * content.
   */
  async compare(pool: SlimPool, onFinding: (finding: Finding) => void): Promise<number> {
    let [collisions, unreadable] = [0, 0];
    for (let extension = 0; ; extension++) {
      const different: { place: PayloadPlace; extension: number }[] = [];
      for await (const { item, result } of mapInOrder(this.#comparisons(extension), pool.tasksAhead, (comparisons) =>
        pool.run({ kind: 'compare', comparisons }),
      )) {
        for (const [index, verdicts] of result.entries()) {
          for (const [at, verdict] of verdicts.entries()) {
            const place = item[index]!.duplicates[at]!;
            if (verdict === 'same') continue;
            const isUnreadable = verdict === 'unreadable';
            // A record that cannot be read gets a unique extension, so that it joins no cluster.
            different.push({ place, extension: isUnreadable ? -++unreadable : extension + 1 });
            const code = isUnreadable ? 'slim-original-unusable' : 'slim-collision';
            onFinding(slimFinding(code, place.file, place.offset));
            if (!isUnreadable) collisions++;
          }
        }
      }
      if (different.length === 0) return collisions;
      await this.#extend(different);
    }
  }

  async *#comparisons(extension: number): AsyncGenerator<PayloadComparison[]> {
    let batch: PayloadComparison[] = [];
    let pairs = 0;
    let current: (PayloadComparison & { duplicates: PayloadPlace[] }) | undefined;
    const rows = this.#database.rows(
      [...PLACE_COLUMNS, 'payload_bytes', 'original_file', 'original_offset', 'original_length'],
      `(${RESOLVE_STATEMENT}) WHERE copy_number > 1 AND extension = ${extension}
        ORDER BY original_file, original_offset, file, record_offset`,
    );
    for await (const row of rows) {
      const [file, offset, length, payloadText, originalFile, originalOffset, originalLength] = row as RowOf<7>;
      const payloadBytes = payloadText === '' ? null : Number(payloadText);
      const original = placeOf(originalFile, originalOffset, originalLength);
      if (
        current?.original.file !== original.file ||
        current.original.offset !== original.offset ||
        pairs >= PAIRS_PER_TASK
      ) {
        if (pairs >= PAIRS_PER_TASK) {
          yield batch;
          batch = [];
          pairs = 0;
        }
        current = { original, payloadBytes, duplicates: [] };
        batch.push(current);
      }
      current.duplicates.push(placeOf(file, offset, length));
      pairs++;
    }
    if (batch.length > 0) yield batch;
  }

  async #extend(different: readonly { place: PayloadPlace; extension: number }[]): Promise<void> {
    for (let at = 0; at < different.length; at += 1000) {
      const part = different.slice(at, at + 1000);
      const values = part.map(({ place, extension }) => `(${sqlLiteral(place.file)}, ${place.offset}, ${extension})`);
      const keys = part.map(({ place }) => `(${sqlLiteral(place.file)}, ${place.offset})`);
      await this.#database.run(
        `DELETE FROM collision WHERE (file, record_offset) IN (${keys.map((key) => `ROW${key}`).join(', ')})`,
      );
      await this.#database.run(`INSERT INTO collision VALUES ${values.join(', ')}`);
    }
  }

  /** The duplicates of the selected part, ordered by original. */
  async *duplicates(): AsyncGenerator<Duplicate> {
    yield* duplicatesIn(this.#database, `(${RESOLVE_STATEMENT})`);
  }
}

/** Creates the empty table `referenced`. */
export async function prepareReferenced(database: Database): Promise<void> {
  await database.run(
    'CREATE OR REPLACE TEMP TABLE referenced (file VARCHAR, record_offset BIGINT, digest VARCHAR, is_answer BOOLEAN)',
  );
}

/**
 * Adds to the table `referenced` the records of `source` that must stay because others refer to them. `source` and
 * `pointers` are SQL sources.
 */
export async function findReferenced(database: Database, source: string, pointers: string): Promise<void> {
  await database.run(`CREATE OR REPLACE TEMP VIEW pointer AS SELECT * FROM ${pointers}`);
  await database.run(`CREATE OR REPLACE TEMP VIEW manifest AS SELECT * FROM ${source} WHERE yields`);
  await database.run(`INSERT INTO referenced ${REFERENCED_STATEMENT}`);
}

/** The rows of `source` that refer to other records. */
export function pointersIn(source: string): string {
  return `(SELECT * FROM ${source} WHERE type IN ('revisit', 'request'))`;
}

/** The duplicates in resolved rows, ordered by original. */
export async function* duplicatesIn(database: Database, source: string): AsyncGenerator<Duplicate> {
  const rows = database.rows(
    DUPLICATE_COLUMNS,
    `${source} WHERE copy_number > 1 AND yields ORDER BY original_file, original_offset, file, record_offset`,
  );
  for await (const row of rows) {
    const [file, offset, length, uri, date, digest, payloadBytes, ...original] = row as RowOf<14>;
    const [originalFile, originalOffset, originalLength, originalUri, originalDate, originalRecordId] = original;
    yield {
      file,
      offset: Number(offset),
      length: Number(length),
      uri,
      date,
      digest,
      payloadBytes: payloadBytes === '' ? null : Number(payloadBytes),
      originalFile,
      originalOffset: Number(originalOffset),
      originalLength: Number(originalLength),
      originalUri,
      originalDate,
      originalRecordId,
      originalDeclaredDigest: original[6],
    };
  }
}

const PLACE_COLUMNS = ['file', 'record_offset', 'record_length'];

const DUPLICATE_COLUMNS = [
  ...PLACE_COLUMNS,
  'uri',
  'date',
  'digest',
  'payload_bytes',
  'original_file',
  'original_offset',
  'original_length',
  'original_uri',
  'original_date',
  'original_record_id',
  'original_declared_digest',
];

function placeOf(file: string, offset: string, length: string): PayloadPlace {
  return { file, offset: Number(offset), length: Number(length) };
}
