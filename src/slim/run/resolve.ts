/**
 * `slim resolve`, the second stage: finds clusters in manifests, chooses originals, and detects digest collisions.
 */
import { join } from 'node:path';
import { type DigestAlgorithm, isCollisionProne } from '../../base/index.ts';
import { type Database, PARQUET, sqlLiteral } from '../database.ts';
import { manifestSource } from '../manifest/manifest-source.ts';
import { Clusters, findReferenced, pointersIn } from '../plan/clusters.ts';
import { type ManifestFormat, putManifest, writeManifest } from '../plan/manifest-target.ts';
import { RESOLVE_STATEMENT } from '../plan/resolve-statement.ts';
import { SlimPool } from '../slim-pool.ts';
import { withStageDirectory } from '../stage-directory.ts';
import type { SlimCallbacks, Verify } from './run.ts';

export type ResolveOptions = SlimCallbacks & {
  readonly manifests: readonly string[];
  readonly out: string;
  readonly format: ManifestFormat;
  /**
   * Contents are always compared by bytes for algorithms with known collisions, and for manifests without sizes (I7).
   */
  readonly verify: Verify;
  readonly workers: number;
  readonly signal?: AbortSignal | undefined;
};

export type ResolveReport = {
  readonly rows: number;
  readonly duplicates: number;
  readonly collisions: number;
  /** Whether payloads were compared byte by byte. */
  readonly comparedBytes: boolean;
};

const ROWS_PER_PART = 250_000;

export async function slimResolve(options: ResolveOptions): Promise<ResolveReport> {
  return withStageDirectory(options.out, options.signal, async (directory, database) => {
    const source = await manifestSource(database, options.manifests, directory);
    const clusters = new Clusters(database);
    await clusters.prepare();
    await clusters.findAmbiguous(source.sql, join(directory, 'keys.parquet'));
    const pointers = pointersIn(source.sql);
    if ((await database.count(pointers)) > 0) await findReferenced(database, source.sql, pointers);
    const comparedBytes =
      options.verify === 'bytes' || source.isWithoutSizes || (await holdsWeakDigests(database, source.sql));
    // Extensions of manifests that were resolved separately cannot be compared with each other.
    const compared = comparedBytes ? '* REPLACE (0 AS extension)' : '*';
    const pool = new SlimPool(options.workers);
    let collisions = 0;
    const parts: string[] = [];
    try {
      for (const prefix of prefixesFor(source.rows)) {
        options.onProgress?.('resolve', parts.length, prefix);
        await clusters.selectPart(
          `(SELECT ${compared} FROM ${source.sql} WHERE starts_with(split_part(digest, ':', 2), ${sqlLiteral(prefix)}))`,
        );
        if (comparedBytes) collisions += await clusters.compare(pool, options.onFinding);
        const part = join(directory, `resolved-${prefix}.parquet`);
        await database.run(`COPY (${RESOLVE_STATEMENT}) TO ${sqlLiteral(part)} (${PARQUET})`);
        parts.push(part);
      }
    } finally {
      await pool.close();
    }
    // A record that is in several manifests is not a duplicate of itself.
    const resolved = `(SELECT * FROM read_parquet([${parts.map(sqlLiteral).join(', ')}])
      WHERE copy_number = 1 OR file <> original_file OR record_offset <> original_offset)`;
    const rows = await database.count(resolved);
    const duplicates = await database.count(`${resolved} WHERE copy_number > 1 AND yields`);
    const written = join(directory, 'manifest');
    await writeManifest(database, `SELECT * FROM ${resolved}`, written, options.format, true);
    await putManifest(written, options.out);
    return { rows, duplicates, collisions, comparedBytes };
  });
}

async function holdsWeakDigests(database: Database, source: string): Promise<boolean> {
  const names = database.rows(
    ['name'],
    `(SELECT DISTINCT split_part(digest, ':', 1) AS name FROM ${source} WHERE holds)`,
  );
  for await (const [name] of names) if (isCollisionProne(name as DigestAlgorithm)) return true;
  return false;
}

/** The digest prefixes that split the manifest into parts that fit into memory. */
function prefixesFor(rows: number): string[] {
  let digits = 0;
  while (digits < 3 && rows / 16 ** digits > ROWS_PER_PART) digits++;
  const count = 16 ** digits;
  return Array.from({ length: count }, (_, index) => (digits === 0 ? '' : index.toString(16).padStart(digits, '0')));
}
