/**
 * `slim assess`: how much duplication a collection contains and what slimming it would save, by type, by host, and
 * within or across files. The files are only read; temporary lines are written to a directory of the caller.
 *
 * Originals of existing revisits are counted like other records, although a run does not replace them. The size of a
 * revisit is estimated: its fields come from the duplicate and the original, and this text deflates to a bit over half.
 */
import { type DigestAlgorithm, digestOf, utf8 } from '../../base/index.ts';
import { ARC_NAME } from '../collection.ts';
import { type Database, sqlLiteral } from '../database.ts';
import { namesOfOneFile } from '../file-identity.ts';
import { linesSource, MANIFEST_COLUMNS } from '../manifest/manifest-column.ts';
import { clusterFiles, prefixDigitsFor } from '../manifest/manifest-lines-file.ts';
import { Clusters } from '../plan/clusters.ts';
import { withStageDirectory } from '../stage-directory.ts';
import type { SlimCallbacks } from './run.ts';
import { scanInto } from './sum.ts';

export type AssessOptions = SlimCallbacks & {
  readonly files: readonly { readonly path: string; readonly bytes: number }[];
  /** The share of the collection to read, from 0 to 1. */
  readonly sample: number;
  readonly algorithm: DigestAlgorithm;
  readonly workers: number;
  /**
   * The temporary files are in a directory beside this path, whose name has some letters added; it is removed
   * afterwards.
   */
  readonly directory: string;
  readonly signal?: AbortSignal | undefined;
};

export type Tally = {
  readonly records: number;
  readonly duplicates: number;
  /** The bytes of all payloads, and of the payloads of duplicates. */
  readonly payloadBytes: number;
  readonly duplicateBytes: number;
  /** The estimated number of bytes that slimming would save in the files. */
  readonly savedBytes: number;
};

export type Assessment = {
  readonly files: number;
  readonly filesRead: number;
  readonly bytes: number;
  readonly bytesRead: number;
  readonly records: number;
  /** Records that can be originals or duplicates. */
  readonly contents: Tally;
  /** Duplicates whose content is earlier in the same file, and duplicates whose content is only in other files. */
  readonly within: Tally;
  readonly across: Tally;
  /**
   * The duplicates that a run in place would replace. It does not change ARC files and files with several names, and
   * its revisits do not refer to their records.
   */
  readonly inPlace: Pick<Tally, 'duplicates' | 'savedBytes'>;
  readonly byType: readonly (Tally & { readonly type: string })[];
  readonly byHost: readonly (Tally & { readonly host: string })[];
};

const LISTED_MAX = 20;

export async function slimAssess(options: AssessOptions): Promise<Assessment> {
  return withStageDirectory(options.directory, options.signal, (directory, database) =>
    assess({ ...options, directory }, database),
  );
}

async function assess(options: AssessOptions, database: Database): Promise<Assessment> {
  const { directory, algorithm, workers } = options;
  const chosen = sampleOf(options.files, options.sample);
  const bytesRead = sum(chosen);
  const prefixDigits = prefixDigitsFor(bytesRead);
  const scanned = await scanInto(directory, {
    ...options,
    files: chosen.map((file) => file.path),
    algorithm,
    workers,
    trustHeaders: false,
    keepEmpty: false,
    brief: true,
    prefixDigits,
  });
  const clusters = new Clusters(database);
  await clusters.prepare();
  await clusters.excludeFiles(scanned.aside);
  await database.run('CREATE TEMP TABLE linked (file VARCHAR)');
  // All files are searched, because the other name of a file may not be in the sample.
  for (const file of namesOfOneFile(options.files.map(({ path }) => path)))
    await database.run(`INSERT INTO linked VALUES (${sqlLiteral(file)})`);
  const sources = clusterFiles(directory);
  await database.run(`CREATE TEMP TABLE tally (type VARCHAR, host VARCHAR, is_duplicate BOOLEAN, is_within BOOLEAN, is_in_place BOOLEAN,
    records BIGINT, payload_bytes BIGINT, saved_bytes BIGINT)`);
  for (const [index, source] of sources.entries()) {
    options.onProgress?.('resolve', index, source);
    await clusters.selectPart(linesSource([source], MANIFEST_COLUMNS));
    await database.run(TALLY_STATEMENT);
  }
  return {
    files: options.files.length,
    filesRead: chosen.length,
    bytes: sum(options.files),
    bytesRead,
    records: scanned.records,
    contents: await tallyOf(database, 'true'),
    within: await tallyOf(database, 'is_duplicate AND is_within'),
    across: await tallyOf(database, 'is_duplicate AND NOT is_within'),
    inPlace: await inPlaceOf(database),
    byType: (await listOf(database, 'type')).map(([type, tally]) => ({ type, ...tally })),
    byHost: (await listOf(database, 'host')).map(([host, tally]) => ({ host, ...tally })),
  };
}

/**
 * The bytes of a revisit in a file: all its text in an uncompressed file, and a measured share of it in a compressed
 * one.
 */
const REVISIT_BYTES = `CASE WHEN file LIKE '%.gz' OR file LIKE '%.zst'
  THEN 330 + 0.42 * (http_head_bytes + uri_length + original_uri_length)
  ELSE 760 + http_head_bytes + 2 * uri_length + original_uri_length END`;

/**
 * The same clusters as in RESOLVE_STATEMENT, but with few columns, and with one hash for the key of a cluster. Sorting
 * is most of the work, and this makes it cheaper. Two clusters with the same hash would be counted as one; among a
 * billion contents this is expected once in forty collections.
 */
const TALLY_STATEMENT = `INSERT INTO tally
  SELECT type, host, is_duplicate, is_within, is_in_place, count(*), sum(payload_bytes),
    sum(CASE WHEN is_duplicate THEN greatest(0, record_length - (${REVISIT_BYTES})) ELSE 0 END)
  FROM (
    SELECT *, copy_number > 1 AND yields AS is_duplicate, copy_number_in_file > 1 AS is_within,
      copy_number_in_kind > 1 AND yields AND NOT is_left AS is_in_place
    FROM (
      SELECT *, row_number() OVER cluster AS copy_number, first_value(uri_length) OVER cluster AS original_uri_length,
        row_number() OVER (PARTITION BY content, file ORDER BY time_ms, record_offset) AS copy_number_in_file,
        row_number() OVER (PARTITION BY content, is_left ORDER BY time_ms, file, record_offset) AS copy_number_in_kind
      FROM (
        SELECT hash(digest, payload_bytes, extension, chunked) AS content, file, record_offset, record_length, time_ms, payload_bytes, yields,
          regexp_matches(lower(file), '${ARC_NAME.source}') OR file IN (SELECT file FROM linked) AS is_left, http_head_bytes, length(uri) AS uri_length, coalesce(mime, '-') AS type,
          coalesce(lower(regexp_extract(uri, '^[A-Za-z]+://([^/:?#]*)', 1)), '-') AS host
        FROM manifest WHERE holds
      )
      WINDOW cluster AS (PARTITION BY content ORDER BY time_ms, file, record_offset)
    )
  )
  GROUP BY ALL`;

const TALLY_COLUMNS = [
  'coalesce(sum(records), 0)',
  'coalesce(sum(records) FILTER (is_duplicate), 0)',
  'coalesce(sum(payload_bytes), 0)',
  'coalesce(sum(payload_bytes) FILTER (is_duplicate), 0)',
  'coalesce(sum(saved_bytes), 0)',
];

async function tallyOf(database: Database, condition: string): Promise<Tally> {
  return toTally(await database.first(TALLY_COLUMNS, `tally WHERE ${condition}`));
}

async function inPlaceOf(database: Database): Promise<Assessment['inPlace']> {
  const { records: duplicates, savedBytes } = await tallyOf(database, 'is_in_place');
  return { duplicates, savedBytes };
}

async function listOf(database: Database, column: string): Promise<[string, Tally][]> {
  const listed: [string, Tally][] = [];
  const source = `tally GROUP BY ${column}
    ORDER BY sum(saved_bytes) DESC, sum(payload_bytes) DESC, ${column} LIMIT ${LISTED_MAX}`;
  for await (const [name, ...numbers] of database.rows([column, ...TALLY_COLUMNS], source)) {
    listed.push([name!, toTally(numbers)]);
  }
  return listed;
}

function toTally(row: readonly string[]): Tally {
  const [records, duplicates, payloadBytes, duplicateBytes, savedBytes] = row.map(Number);
  return {
    records: records!,
    duplicates: duplicates!,
    payloadBytes: payloadBytes!,
    duplicateBytes: duplicateBytes!,
    savedBytes: Math.round(savedBytes!),
  };
}

/**
 * Chooses whole files until the share is reached, at least one. They are chosen by a hash of their paths, so that
 * another run chooses the same files.
 */
function sampleOf<File extends { path: string; bytes: number }>(files: readonly File[], share: number): File[] {
  if (share >= 1) return [...files];
  const order = (file: File) => Buffer.from(digestOf('sha256', utf8(file.path)).bytes).toString('hex');
  const shuffled = files.map((file) => ({ file, key: order(file) })).sort((a, b) => (a.key < b.key ? -1 : 1));
  const wanted = sum(files) * share;
  const chosen: File[] = [];
  let bytes = 0;
  for (const { file } of shuffled) {
    if (bytes >= wanted) break;
    chosen.push(file);
    bytes += file.bytes;
  }
  return chosen.sort((a, b) => (a.path < b.path ? -1 : 1));
}

function sum(files: readonly { readonly bytes: number }[]): number {
  return files.reduce((total, file) => total + file.bytes, 0);
}
