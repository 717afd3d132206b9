/**
 * `slim split`: parts manifests by digest, so that parts can be resolved on different machines. A cluster is never divided. Rows that only
 * point at others stand in every part, because any part may hold what they point at.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileError, PinakesError } from '../base/index.ts';
import { quoted } from './database.ts';
import { manifestSource } from './manifest-source.ts';
import { type ManifestFormat, writeManifest } from './manifest-target.ts';
import { withStageDirectory } from './stage-directory.ts';

export type SplitOptions = {
  readonly manifests: readonly string[];
  readonly parts: number;
  /** Directory for the parts. */
  readonly out: string;
  readonly format: ManifestFormat;
};

export type SplitPart = { readonly path: string; readonly rows: number };

const PARTS_MAX = 4096;

export async function slimSplit({ manifests, parts, out, format }: SplitOptions): Promise<SplitPart[]> {
  if (!Number.isInteger(parts) || parts < 1 || parts > PARTS_MAX) {
    throw new PinakesError('BAD_ARGUMENT', { where: String(parts), detail: `1 to ${PARTS_MAX} parts` });
  }
  try {
    mkdirSync(out, { recursive: true });
  } catch (cause) {
    throw fileError(cause, out, 'writing');
  }
  return withStageDirectory(join(out, 'split'), async (directory, database) => {
    const source = await manifestSource(database, manifests, directory);
    const made: SplitPart[] = [];
    for (let part = 0; part < parts; part++) {
      const path = join(out, `part-${pad(part + 1)}-of-${pad(parts)}.${format === 'parquet' ? 'parquet' : 'txt'}`);
      const start = `substr(split_part(digest, ':', 2), 1, 4)`;
      const upper = part + 1 === parts ? '' : ` AND ${start} < ${quoted(border(part + 1, parts))}`;
      const rows = `SELECT * FROM ${source.sql} WHERE digest IS NULL OR (${start} >= ${quoted(border(part, parts))}${upper})`;
      await writeManifest(database, rows, path, format, false);
      made.push({ path, rows: await database.count(`(${rows})`) });
    }
    return made;
  });
}

/** The first digits of the digests that a part begins with. */
function border(part: number, parts: number): string {
  return Math.ceil((part * 65_536) / parts)
    .toString(16)
    .padStart(4, '0');
}

function pad(number: number): string {
  return String(number).padStart(4, '0');
}
