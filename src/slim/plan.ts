/**
 * The plan of a run: a line for every duplicate whose original was looked at and found fine. Lines are appended part by part and cut back to the
 * last whole part when a run is resumed; SQL sorts them by file for the second pass.
 *
 * ```
 *   number of the file TAB offset TAB number of the original's file TAB the planned duplicate as JSON LF
 * ```
 */
import { appendFileSync, existsSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { type Finding, fileError } from '../base/index.ts';
import type { Duplicate } from './clusters.ts';
import type { Database } from './database.ts';
import { slimFinding } from './finding-catalogue.ts';
import { linesSource, type ManifestColumn } from './manifest-column.ts';
import type { CheckedOriginal, OriginalVerdict } from './original-check.ts';
import type { PlannedDuplicate, PlannedOriginal } from './plan-line.ts';
import { inOrder, type SlimPool } from './slim-pool.ts';

const PLAN_COLUMNS: readonly ManifestColumn[] = [
  { name: 'file', type: 'INTEGER' },
  { name: 'record_offset', type: 'BIGINT' },
  { name: 'original_file', type: 'INTEGER' },
  { name: 'planned', type: 'VARCHAR' },
];

const ORIGINALS_AT_ONCE = 128;
const BUFFER_CHARACTERS = 1024 * 1024;

export type PlanOptions = {
  readonly pool: SlimPool;
  /** Number of a file in the collection; undefined for one that is not part of it. */
  readonly numberOf: (file: string) => number | undefined;
  /** Where a file of the manifest lies. */
  readonly pathOf: (file: string) => string;
  /** Id that the original will have, when it is not the one in the manifest. */
  readonly originalId: (file: string, offset: number) => string | undefined;
  readonly digestBytes?: number | undefined;
  /** Takes originals as the manifest describes them, without looking: they are out of reach. */
  readonly trustOriginals?: boolean | undefined;
  readonly onFinding: (finding: Finding) => void;
};

export class Plan {
  readonly path: string;

  /** Goes on after `bytes`, or begins anew. */
  constructor(path: string, bytes = 0) {
    this.path = path;
    try {
      if (existsSync(path)) truncateSync(path, bytes);
      else writeFileSync(path, '');
    } catch (cause) {
      throw fileError(cause, path, 'writing');
    }
  }

  get bytes(): number {
    return statSync(this.path).size;
  }

  /** Adds the duplicates whose originals are fine. `duplicates` come by original. */
  async add(
    duplicates: AsyncIterable<Duplicate>,
    options: PlanOptions,
  ): Promise<{ duplicates: number; unusable: number }> {
    let [count, unusable] = [0, 0];
    let pending = '';
    const checked = inOrder(groupsOf(duplicates), options.pool.ahead, (group) => check(group, options));
    for await (const { item: group, result: verdicts } of checked) {
      for (const [index, cluster] of group.clusters.entries()) {
        const verdict = verdicts[index]!;
        const { originalFile, originalOffset } = cluster[0]!;
        count += cluster.length;
        if (!verdict.isFine) {
          unusable += cluster.length;
          const path = options.pathOf(originalFile);
          options.onFinding(slimFinding('slim-original-unusable', path, originalOffset, verdict.reason));
          continue;
        }
        for (const duplicate of cluster) pending += lineOf(duplicate, verdict, options);
      }
      if (pending.length >= BUFFER_CHARACTERS) {
        this.#append(pending, false);
        pending = '';
      }
    }
    this.#append(pending, true);
    return { duplicates: count, unusable };
  }

  #append(text: string, flush: boolean): void {
    try {
      appendFileSync(this.path, text, { flush });
    } catch (cause) {
      throw fileError(cause, this.path, 'writing');
    }
  }
}

type Group = { readonly file: string; readonly clusters: Duplicate[][] };

/** Duplicates of the same original together, and originals of one file together, a bounded number at a time. */
async function* groupsOf(duplicates: AsyncIterable<Duplicate>): AsyncGenerator<Group> {
  let group: Group | undefined;
  let rows = 0;
  for await (const duplicate of duplicates) {
    const last = group?.clusters.at(-1)?.[0];
    const isSame = last?.originalFile === duplicate.originalFile && last.originalOffset === duplicate.originalOffset;
    if (isSame && rows < ORIGINALS_AT_ONCE * 64) {
      group!.clusters.at(-1)!.push(duplicate);
      rows++;
      continue;
    }
    const isFull = rows >= ORIGINALS_AT_ONCE * 64 || (group?.clusters.length ?? 0) >= ORIGINALS_AT_ONCE;
    if (!group || group.file !== duplicate.originalFile || isFull) {
      if (group) yield group;
      group = { file: duplicate.originalFile, clusters: [] };
      rows = 0;
    }
    group.clusters.push([duplicate]);
    rows++;
  }
  if (group) yield group;
}

async function check(group: Group, options: PlanOptions): Promise<OriginalVerdict[]> {
  const originals = group.clusters.map(([duplicate]): CheckedOriginal => {
    const { originalOffset, originalLength, originalUri, originalDate, digest, payloadBytes } = duplicate!;
    const place = { offset: originalOffset, length: originalLength };
    return { ...place, uri: originalUri, date: originalDate, digest, payloadBytes };
  });
  if (options.trustOriginals) {
    return group.clusters.map(([duplicate]) => {
      const { originalDeclaredDigest, digest } = duplicate!;
      return { isFine: true, digestText: originalDeclaredDigest || digest, codings: null };
    });
  }
  if (group.file === '')
    return originals.map(() => ({ isFine: false, reason: 'the manifest does not say where it is' }));
  const { digestBytes } = options;
  const file = options.pathOf(group.file);
  return options.pool.run({ kind: 'check', check: { file, originals, digestBytes } });
}

function lineOf(
  duplicate: Duplicate,
  verdict: Extract<OriginalVerdict, { isFine: true }>,
  options: PlanOptions,
): string {
  const file = options.numberOf(duplicate.file);
  if (file === undefined) return '';
  const { offset, length, uri, date, digest, payloadBytes } = duplicate;
  const original: PlannedOriginal = {
    uri: duplicate.originalUri,
    date: duplicate.originalDate,
    recordId: options.originalId(duplicate.originalFile, duplicate.originalOffset) ?? duplicate.originalRecordId,
    digestText: verdict.digestText,
    codings: verdict.codings,
  };
  const planned: PlannedDuplicate = { offset, length, uri, date, digest, payloadBytes, original };
  const originalFile = options.numberOf(duplicate.originalFile) ?? -1;
  return `${file}\t${offset}\t${originalFile}\t${JSON.stringify(planned)}\n`;
}

export type FilePlan = {
  readonly file: number;
  readonly duplicates: number;
  /** Numbers of the files that hold the originals. */
  readonly originalFiles: ReadonlySet<number>;
};

/**
 * The plan, file by file in the order of their numbers. The duplicates of each are written to the path that `place` gives, unless it gives
 * none.
 */
export async function* plansByFile(
  database: Database,
  plan: Plan,
  place: (file: number) => string | undefined,
): AsyncGenerator<FilePlan> {
  if (plan.bytes === 0) return;
  let current = -1;
  let path: string | undefined;
  let pending = '';
  let duplicates = 0;
  let originalFiles = new Set<number>();
  const flush = () => {
    if (path !== undefined) appendFileSync(path, pending);
    pending = '';
  };
  const source = `${linesSource([plan.path], PLAN_COLUMNS)} ORDER BY file, record_offset`;
  for await (const [number, originalFile, planned] of database.rows(['file', 'original_file', 'planned'], source)) {
    const file = Number(number);
    if (file !== current) {
      flush();
      if (current >= 0 && path !== undefined) yield { file: current, duplicates, originalFiles };
      current = file;
      path = place(file);
      if (path !== undefined) writeFileSync(path, '');
      duplicates = 0;
      originalFiles = new Set();
    }
    if (path === undefined) continue;
    pending += `${planned}\n`;
    duplicates++;
    originalFiles.add(Number(originalFile));
    if (pending.length >= BUFFER_CHARACTERS) flush();
  }
  flush();
  if (current >= 0 && path !== undefined) yield { file: current, duplicates, originalFiles };
}
