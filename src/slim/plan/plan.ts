/**
 * The plan of a run: one line for every duplicate whose original was checked and is usable. A plan file has the lines
 * of many files of the collection, chosen by the number of the file. The second pass reads the plan file by file. A
 * resumed run continues from the last checkpoint.
 *
 * ```
 *   plan-0.tsv ...   number of the file TAB number of the original's file TAB offset TAB the duplicate as JSON LF
 * ```
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { assert, type Finding } from '../../base/index.ts';
import { type CollectionFile, realPath } from '../collection.ts';
import type { Database } from '../database.ts';
import { slimFinding } from '../finding-catalogue.ts';
import { type LineFileLengths, LineFiles } from '../line-files.ts';
import { linesSource } from '../manifest/manifest-column.ts';
import { mapInOrder, type SlimPool } from '../slim-pool.ts';
import { readLines } from '../text-lines.ts';
import type { Duplicate } from './clusters.ts';
import type { CheckedOriginal, OriginalVerdict } from './original-check.ts';
import type { PlannedDuplicate, PlannedOriginal } from './plan-line.ts';
import type { ReferencedRecord } from './reference-notes.ts';

const PLAN_FILE = /^plan-\d+\.tsv$/;
const FILE_PLAN = /^duplicates-\d+\.tsv$/;
/** The maximum number of plan files. */
const PLAN_FILES_MAX = 256;
const ORIGINALS_PER_TASK = 128;
const DUPLICATES_PER_TASK = 64 * ORIGINALS_PER_TASK;
const PLAN_COLUMNS = [
  { name: 'file', type: 'INTEGER' },
  { name: 'original_file', type: 'INTEGER' },
  { name: 'record_offset', type: 'BIGINT' },
  { name: 'planned', type: 'VARCHAR' },
];

export type PlanOptions = {
  readonly pool: SlimPool;
  /** The number of a file in the collection; undefined for other files. */
  readonly numberOf: (file: string) => number | undefined;
  /** The path of a file that the manifest names. */
  readonly pathOf: (file: string) => string;
  /** Why no revisit may refer to the records of a file; undefined when revisits may. */
  readonly refusalOf?: ((file: string) => string | undefined) | undefined;
  /** The id that the original will have, when it differs from the one in the manifest. */
  readonly originalId: (file: string, offset: number) => string | undefined;
  readonly digestBytes?: number | undefined;
  /** Whether to trust the manifest about originals whose files are not on this machine. */
  readonly trustOriginals?: boolean | undefined;
  readonly onFinding: (finding: Finding) => void;
};

export class Plan {
  readonly #directory: string;
  readonly #filesPerPlanFile: number;
  readonly #lines: LineFiles;
  #lengths: LineFileLengths;

  /** Continues from a checkpoint, or starts empty. */
  constructor(directory: string, files: number, lengths: LineFileLengths = {}) {
    this.#directory = directory;
    this.#filesPerPlanFile = Math.max(1, Math.ceil(files / PLAN_FILES_MAX));
    this.#lines = new LineFiles(directory, PLAN_FILE, lengths);
    this.#lengths = lengths;
  }

  /** Adds the duplicates whose originals are usable. `duplicates` are ordered by original. */
  async add(
    duplicates: AsyncIterable<Duplicate>,
    options: PlanOptions,
  ): Promise<{ duplicates: number; unusable: number }> {
    let [count, unusable] = [0, 0];
    const checked = mapInOrder(groupsOf(duplicates), options.pool.tasksAhead, (group) => checkGroup(group, options));
    for await (const { item: group, result: verdicts } of checked) {
      for (const [index, cluster] of group.clusters.entries()) {
        const verdict = verdicts[index]!;
        const { originalFile, originalOffset } = cluster[0]!;
        count += cluster.length;
        if (!verdict.isUsable) {
          unusable += cluster.length;
          const path = options.pathOf(originalFile);
          options.onFinding(slimFinding('slim-original-unusable', path, originalOffset, verdict.reason));
          continue;
        }
        for (const duplicate of cluster) this.#put(duplicate, verdict, options);
      }
    }
    return { duplicates: count, unusable };
  }

  checkpoint(): LineFileLengths {
    this.#lengths = this.#lines.checkpoint();
    return this.#lengths;
  }

  /** The number of distinct duplicates in the plan at the last checkpoint. */
  async count(database: Database): Promise<number> {
    const paths = Object.keys(this.#lengths).map((name) => join(this.#directory, name));
    if (paths.length === 0) return 0;
    return database.count(`(SELECT DISTINCT file, record_offset FROM ${linesSource(paths, PLAN_COLUMNS)})`);
  }

  #put(duplicate: Duplicate, verdict: Extract<OriginalVerdict, { isUsable: true }>, options: PlanOptions): void {
    const file = options.numberOf(duplicate.file);
    if (file === undefined) return;
    const originalFile = options.numberOf(duplicate.originalFile) ?? -1;
    const planned = JSON.stringify(plannedOf(duplicate, verdict, options));
    const line = `${file}\t${originalFile}\t${duplicate.offset}\t${planned}\n`;
    this.#lines.add(`plan-${Math.floor(file / this.#filesPerPlanFile)}.tsv`, line);
  }

  /** The plans of the wanted files, in the order of their numbers. */
  async *byFile(isWanted: (file: number) => boolean): AsyncGenerator<FilePlan> {
    const filePlans = new LineFiles(this.#directory, FILE_PLAN);
    for (const part of this.#parts()) {
      /** The numbers of the files of the originals, by the number of the file of the duplicates. */
      const originals = new Map<number, Set<number>>();
      for await (const { file, originalFile, rest } of this.#readLines(part)) {
        if (!isWanted(file)) continue;
        const known = originals.get(file);
        if (known) known.add(originalFile);
        else originals.set(file, new Set([originalFile]));
        filePlans.add(`duplicates-${file}.tsv`, `${rest}\n`);
      }
      filePlans.flush();
      for (const [file, originalFiles] of [...originals].sort(([a], [b]) => a - b)) {
        assert(Math.floor(file / this.#filesPerPlanFile) === part, 'a plan file has only the plans of its own files');
        yield { file, path: join(this.#directory, `duplicates-${file}.tsv`), originalFiles };
      }
    }
  }

  /**
   * The originals that revisits will refer to, possibly repeated. Originals in the file of the duplicate are included,
   * because a later run with older manifests would not know about the revisit. An original without a known path gets
   * the path of the duplicate, since it may be beside it.
   */
  async *originals(files: readonly CollectionFile[]): AsyncGenerator<ReferencedRecord> {
    for (const part of this.#parts()) {
      let last = '';
      for await (const { file, originalFile, rest } of this.#readLines(part)) {
        const { original } = JSON.parse(rest.slice(rest.indexOf('\t') + 1)) as PlannedDuplicate;
        const path = files[originalFile]?.target ?? original.path ?? files[file]!.target;
        const place = `${path}\t${original.uri}\t${original.date}`;
        if (place !== last) yield { path, uri: original.uri, date: original.date };
        last = place;
      }
    }
  }

  #parts(): number[] {
    const parts = Object.keys(this.#lengths).map((name) => Number(/\d+/.exec(name)![0]));
    return parts.sort((a, b) => a - b);
  }

  async *#readLines(part: number): AsyncGenerator<{ file: number; originalFile: number; rest: string }> {
    for await (const line of readLines(join(this.#directory, `plan-${part}.tsv`))) {
      const first = line.indexOf('\t');
      const second = line.indexOf('\t', first + 1);
      const [file, originalFile] = [Number(line.slice(0, first)), Number(line.slice(first + 1, second))];
      yield { file, originalFile, rest: line.slice(second + 1) };
    }
  }
}

export type FilePlan = {
  readonly file: number;
  /** The file with the duplicates, for `readPlan`. */
  readonly path: string;
  /** The numbers of the files that contain the originals. */
  readonly originalFiles: ReadonlySet<number>;
};

type Group = { readonly file: string; readonly clusters: Duplicate[][] };

/** Groups duplicates by original and originals by file, with a bounded number in each group. */
async function* groupsOf(duplicates: AsyncIterable<Duplicate>): AsyncGenerator<Group> {
  let group: Group | undefined;
  let rows = 0;
  for await (const duplicate of duplicates) {
    const last = group?.clusters.at(-1)?.[0];
    const isSame = last?.originalFile === duplicate.originalFile && last.originalOffset === duplicate.originalOffset;
    if (isSame && rows < DUPLICATES_PER_TASK) {
      group!.clusters.at(-1)!.push(duplicate);
      rows++;
      continue;
    }
    const isFull = rows >= DUPLICATES_PER_TASK || (group?.clusters.length ?? 0) >= ORIGINALS_PER_TASK;
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

async function checkGroup(group: Group, options: PlanOptions): Promise<OriginalVerdict[]> {
  const originals = group.clusters.map(([duplicate]): CheckedOriginal => {
    const { originalOffset, originalLength, originalUri, originalDate, digest, payloadBytes } = duplicate!;
    const place = { offset: originalOffset, length: originalLength };
    return { ...place, uri: originalUri, date: originalDate, digest, payloadBytes };
  });
  const refusal = options.refusalOf?.(group.file);
  if (refusal !== undefined) return originals.map(() => ({ isUsable: false, reason: refusal }));
  if (options.trustOriginals && (group.file === '' || !existsSync(options.pathOf(group.file)))) {
    return group.clusters.map(([duplicate]) => {
      const { originalDeclaredDigest, digest } = duplicate!;
      return { isUsable: true, digestText: originalDeclaredDigest || digest, codings: null };
    });
  }
  if (group.file === '')
    return originals.map(() => ({ isUsable: false, reason: 'the manifest does not name its file' }));
  const { digestBytes } = options;
  const file = options.pathOf(group.file);
  return options.pool.run({ kind: 'check', check: { file, originals, digestBytes } });
}

function plannedOf(
  duplicate: Duplicate,
  verdict: Extract<OriginalVerdict, { isUsable: true }>,
  options: PlanOptions,
): PlannedDuplicate {
  const { offset, length, uri, date, digest, payloadBytes } = duplicate;
  const isOutside = verdict.codings !== null && options.numberOf(duplicate.originalFile) === undefined;
  const original: PlannedOriginal = {
    uri: duplicate.originalUri,
    date: duplicate.originalDate,
    recordId: options.originalId(duplicate.originalFile, duplicate.originalOffset) ?? duplicate.originalRecordId,
    digestText: verdict.digestText,
    codings: verdict.codings,
    ...(isOutside && { path: realPath(options.pathOf(duplicate.originalFile)) }),
  };
  return { offset, length, uri, date, digest, payloadBytes, original };
}
