/**
 * What files lean on that a later run may not see. A run notes its originals beside the files that hold them, so that every run that names such a file leaves
 * them what they are, whether it names the files with the revisits or not; else a revisit would come to refer to a revisit.
 *
 * ```
 *   .pinakes-slim/leaned-<run>.txt     a line for each original: MD5 of its URI, a tab and its date, in hexadecimal
 * ```
 * A directory that cannot be written to gets no notes: its files cannot be exchanged either.
 */
import {
  closeSync,
  copyFileSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { digestOf, fileError, syncDirectory, toHex, utf8 } from '../base/index.ts';
import type { CollectionFile } from './collection.ts';
import { quoted } from './database.ts';
import { LineFiles } from './line-files.ts';
import { WORK_DIRECTORY } from './work-directory.ts';

const NOTES = /^leaned-[0-9a-f]{16}\.txt$/;
const DRAFT = /^leaned-\d+\.txt$/;
const LINES_HELD_MAX = 100_000;
const UNWRITABLE = new Set(['EACCES', 'EPERM', 'EROFS']);

/** Which run it is: its directory can be that of another one, once that is removed. */
export type RunMark = { readonly directory: string; readonly startMs: number };

/** A record that others lean on: the number of its file, its URI and its date as it is written. */
export type LeanedRecord = { readonly file: number; readonly uri: string; readonly date: string };

/** Makes the notes, durably. `run.directory` takes them while they are gathered. */
export async function noteLeaned(
  records: AsyncIterable<LeanedRecord>,
  files: readonly CollectionFile[],
  run: RunMark,
): Promise<void> {
  const directories: string[] = [];
  const numbers = new Map<string, number>();
  const draft = new LineFiles(run.directory, DRAFT);
  let lines = 0;
  for await (const { file, uri, date } of records) {
    const directory = dirname(files[file]!.target);
    let number = numbers.get(directory);
    if (number === undefined) {
      number = directories.push(directory) - 1;
      numbers.set(directory, number);
    }
    draft.add(`leaned-${number}.txt`, `${toHex(digestOf('md5', utf8(`${uri}\t${date}`)).bytes)}\n`);
    if (++lines % LINES_HELD_MAX === 0) draft.flush();
  }
  draft.flush();
  for (const [number, directory] of directories.entries())
    await putDurably(join(run.directory, `leaned-${number}.txt`), notesOf(directory, run));
}

/** What SQL can read the notes beside the files from, with the column `mark`; undefined when there are none. */
export function leanedSource(files: readonly CollectionFile[]): string | undefined {
  const directories = new Set(files.map(({ path }) => join(dirname(path), WORK_DIRECTORY)));
  const paths = [...directories].flatMap((directory) => notesIn(directory).map((name) => join(directory, name)));
  if (paths.length === 0) return undefined;
  return `read_csv([${paths.map(quoted).join(', ')}], header=false, auto_detect=false, columns={'mark': 'VARCHAR'})`;
}

/** The mark of a row of a manifest, in SQL. */
export const LEANED_MARK = 'md5(m.uri || chr(9) || m.date)';

/** Takes back what a run noted. */
export function forgetLeaned(files: readonly CollectionFile[], run: RunMark): void {
  for (const directory of new Set(files.map(({ target }) => dirname(target)))) {
    rmSync(notesOf(directory, run), { force: true });
    try {
      rmdirSync(join(directory, WORK_DIRECTORY));
    } catch {
      // It is not there, or others have something in it.
    }
  }
}

function notesOf(directory: string, { directory: runDirectory, startMs }: RunMark): string {
  const run = toHex(digestOf('sha256', utf8(`${resolve(runDirectory)}\n${startMs}`)).bytes).slice(0, 16);
  return join(directory, WORK_DIRECTORY, `leaned-${run}.txt`);
}

function notesIn(directory: string): string[] {
  try {
    return readdirSync(directory).filter((name) => NOTES.test(name));
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return [];
    throw fileError(cause, directory);
  }
}

async function putDurably(from: string, to: string): Promise<void> {
  try {
    mkdirSync(dirname(to), { recursive: true });
    copyFileSync(from, `${to}.tmp`);
    const descriptor = openSync(`${to}.tmp`, 'r+');
    try {
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    renameSync(`${to}.tmp`, to);
    await syncDirectory(dirname(to));
  } catch (cause) {
    if (!UNWRITABLE.has((cause as NodeJS.ErrnoException).code ?? '')) throw fileError(cause, to, 'writing');
  }
}
