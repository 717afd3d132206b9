/**
 * `slim split`: splits manifests by digest, so that the parts can be resolved on different machines. A cluster is never
 * divided. Rows that only refer to other records are in every part, because the other record may be in any part. In
 * ambiguous rows, `holds` and `yields` are false.
 */
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { badArgument, refuseExisting, writingFile } from '../../base/index.ts';
import { sqlLiteral } from '../database.ts';
import { manifestSource } from '../manifest/manifest-source.ts';
import { Clusters } from '../plan/clusters.ts';
import { type ManifestFormat, putManifest, writeManifest } from '../plan/manifest-target.ts';
import { withStageDirectory } from '../stage-directory.ts';

export type SplitOptions = {
  readonly manifests: readonly string[];
  readonly parts: number;
  /** The directory for the parts. */
  readonly out: string;
  readonly format: ManifestFormat;
  /** Whether to replace existing parts. */
  readonly force?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
};

export type SplitPart = { readonly path: string; readonly rows: number };

const PARTS_MAX = 4096;

export async function slimSplit(options: SplitOptions): Promise<SplitPart[]> {
  const { manifests, parts, out, format, force, signal } = options;
  if (!Number.isInteger(parts) || parts < 1 || parts > PARTS_MAX) {
    throw badArgument(String(parts), `a number of parts from 1 to ${PARTS_MAX} is expected`);
  }
  const names = Array.from({ length: parts }, (_, part) => nameOf(part, options));
  for (const name of names) await refuseExisting(join(out, name), force);
  writingFile(out, () => mkdirSync(out, { recursive: true }));
  return withStageDirectory(join(out, 'split'), signal, async (directory, database) => {
    const source = await manifestSource(database, manifests, directory);
    // Ambiguity can only be found here, because contents with the same place or id go to different parts.
    const clusters = new Clusters(database);
    await clusters.prepare();
    await clusters.findAmbiguous(source.sql, join(directory, 'keys.parquet'));
    const whole = clusters.withoutAmbiguous(source.sql);
    const written: SplitPart[] = [];
    for (const [part, name] of names.entries()) {
      const start = `substr(split_part(digest, ':', 2), 1, 4)`;
      const upper = part + 1 === parts ? '' : ` AND ${start} < ${sqlLiteral(border(part + 1, parts))}`;
      const rows = `SELECT * FROM ${whole} WHERE digest IS NULL OR (${start} >= ${sqlLiteral(border(part, parts))}${upper})`;
      await writeManifest(database, rows, join(directory, name), format, false);
      written.push({ path: join(out, name), rows: await database.count(`(${rows})`) });
    }
    await putAllOrNone(names, directory, out);
    return written;
  });
}

/** Renames all parts or none: an incomplete set of parts would lack contents. */
async function putAllOrNone(names: readonly string[], directory: string, out: string): Promise<void> {
  const put: string[] = [];
  try {
    for (const name of names) {
      await putManifest(join(directory, name), join(out, name));
      put.push(join(out, name));
    }
  } catch (error) {
    for (const path of put) rmSync(path, { force: true });
    throw error;
  }
}

/** The first digits of the lowest digest in a part. */
function border(part: number, parts: number): string {
  return Math.ceil((part * 65_536) / parts)
    .toString(16)
    .padStart(4, '0');
}

function nameOf(part: number, { parts, format }: SplitOptions): string {
  return `part-${pad(part + 1)}-of-${pad(parts)}.${format === 'parquet' ? 'parquet' : 'txt'}`;
}

function pad(number: number): string {
  return String(number).padStart(4, '0');
}
