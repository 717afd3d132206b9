/**
 * Notes which records revisits in other files refer to. A run writes the notes about its originals beside the files
 * that contain them. A later run that names such a file must not replace these originals, even if it does not name the
 * files with the revisits; otherwise a revisit would refer to a revisit.
 *
 * ```
 *   .pinakes-slim/leaned-<run>.txt     one line per original: MD5 of its URI, a tab and its date, in hexadecimal
 * ```
 * A run respects the notes that exist when it plans, and looks for new notes of other runs before it replaces a file.
 * In a directory that cannot be written, the notes are not written, which is reported as a finding: this user cannot
 * replace its files either, but another user might.
 */
import {
  accessSync,
  closeSync,
  constants,
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
import { digestOf, type Finding, fileError, PinakesError, syncDirectory, toHex, utf8 } from '../../base/index.ts';
import type { CollectionFile } from '../collection.ts';
import { sqlLiteral } from '../database.ts';
import { FileWindow } from '../file-window.ts';
import { slimFinding } from '../finding-catalogue.ts';
import { LineFiles } from '../line-files.ts';
import { WORK_DIRECTORY } from '../work-directory.ts';
import { readPlan } from './plan-line.ts';

const NOTES = /^leaned-[0-9a-f]{16}\.txt$/;
const FINGERPRINT = /^[0-9a-f]{32}$/;
const DRAFT = /^leaned-\d+\.txt$/;
const LINES_HELD_MAX = 100_000;
const LINE_BYTES = 33;
const LINES_AT_ONCE = 8192;
const DUPLICATES_AT_ONCE = 1024;
const UNWRITABLE = new Set(['EACCES', 'EPERM', 'EROFS']);

/**
 * Identifies a run. The directory alone is not enough, because a later run can use the same directory after it was
 * removed.
 */
export type RunIdentity = { readonly directory: string; readonly startMs: number };

/** A record that revisits refer to: the path that its file has or will have, its URI, and its date as written. */
export type ReferencedRecord = { readonly path: string; readonly uri: string; readonly date: string };

/**
 * Writes the notes durably and returns the directories that have notes. The notes are collected in `run.directory`
 * first. The existing notes beside files that are written elsewhere are copied to the new place.
 */
export async function writeReferenceNotes(
  records: AsyncIterable<ReferencedRecord>,
  files: readonly CollectionFile[],
  run: RunIdentity,
  onFinding: (finding: Finding) => void,
): Promise<string[]> {
  const directories: string[] = [];
  const numbers = new Map<string, number>();
  const draft = new LineFiles(run.directory, DRAFT);
  let lines = 0;
  const add = (directory: string, fingerprint: string) => {
    let number = numbers.get(directory);
    if (number === undefined) {
      number = directories.push(directory) - 1;
      numbers.set(directory, number);
    }
    draft.add(`leaned-${number}.txt`, `${fingerprint}\n`);
    if (++lines % LINES_HELD_MAX === 0) draft.flush();
  };
  for await (const { path, uri, date } of records) add(dirname(path), fingerprintOf(uri, date));
  for (const [from, to] of movesOf(files))
    for (const path of notesIn(from))
      for (const fingerprints of fingerprintsIn(path)) for (const fingerprint of fingerprints) add(to, fingerprint);
  draft.flush();
  for (const [number, directory] of directories.entries()) {
    const isNoted = await putDurably(join(run.directory, `leaned-${number}.txt`), notesPath(directory, run));
    if (!isNoted) onFinding(slimFinding('slim-lean-unnoted', directory, 0));
  }
  return directories;
}

/** The pairs of old and new directories of files that are written elsewhere. */
function movesOf(files: readonly CollectionFile[]): [from: string, to: string][] {
  const moves = new Map<string, [string, string]>();
  for (const { path, target } of files) {
    const [from, to] = [dirname(path), dirname(target)];
    if (from !== to) moves.set(`${from}\n${to}`, [from, to]);
  }
  return [...moves.values()];
}

/** The notes beside the files. Throws when one of them cannot be read. */
export function notesBeside(files: readonly CollectionFile[]): string[] {
  const notes = [...new Set(files.map(({ path }) => dirname(path)))].flatMap(notesIn);
  for (const path of notes) for (const _ of fingerprintsIn(path));
  return notes;
}

/** The SQL source of the notes, with the column `fingerprint`; undefined when there are no notes. */
export function notesSource(notes: readonly string[]): string | undefined {
  if (notes.length === 0) return undefined;
  return `read_csv([${notes.map(sqlLiteral).join(', ')}], header=false, auto_detect=false, columns={'fingerprint': 'VARCHAR'})`;
}

/**
 * A note file of another run that is newer than the known ones and names a planned duplicate of the file.
 */
export function newerNoteAbout(
  path: string,
  plan: string,
  known: ReadonlySet<string>,
  run: RunIdentity,
): string | undefined {
  const directory = dirname(path);
  const own = notesPath(directory, run);
  const notes = notesIn(directory).filter((note) => note !== own && !known.has(note));
  if (notes.length === 0) return undefined;
  const planned = new Set<string>();
  for (const duplicates of readPlan(plan, DUPLICATES_AT_ONCE))
    for (const { uri, date } of duplicates) planned.add(fingerprintOf(uri, date));
  return notes.find((note) => {
    for (const fingerprints of fingerprintsIn(note))
      if (fingerprints.some((fingerprint) => planned.has(fingerprint))) return true;
    return false;
  });
}

function fingerprintOf(uri: string, date: string): string {
  return toHex(digestOf('md5', utf8(`${uri}\t${date}`)).bytes);
}

/** The fingerprint of a manifest row, in SQL. */
export const RECORD_FINGERPRINT = 'md5(m.uri || chr(9) || m.date)';

/** Removes the notes of a run from these directories. */
export function removeReferenceNotes(directories: ReadonlySet<string>, run: RunIdentity): void {
  for (const directory of directories) {
    rmSync(notesPath(directory, run), { force: true });
    try {
      rmdirSync(join(directory, WORK_DIRECTORY));
    } catch {
      // The directory does not exist, or contains other files.
    }
  }
}

function notesPath(directory: string, { directory: runDirectory, startMs }: RunIdentity): string {
  const run = toHex(digestOf('sha256', utf8(`${resolve(runDirectory)}\n${startMs}`)).bytes).slice(0, 16);
  return join(directory, WORK_DIRECTORY, `leaned-${run}.txt`);
}

/** The note files in a directory of the collection. */
function notesIn(directory: string): string[] {
  const place = join(directory, WORK_DIRECTORY);
  try {
    return readdirSync(place)
      .filter((name) => NOTES.test(name))
      .map((name) => join(place, name));
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return [];
    throw fileError(cause, place);
  }
}

/** Reads the fingerprints in batches. Throws SLIM_NOTES for a file that is not in the form that a run writes. */
function* fingerprintsIn(path: string): Generator<string[]> {
  using window = new FileWindow(path);
  for (let at = 0; ; ) {
    const bytes = window.readAll(at, LINE_BYTES * LINES_AT_ONCE);
    if (bytes.length === 0) return;
    const fingerprints = bytes.toString('latin1').split('\n');
    if (fingerprints.pop() !== '' || !fingerprints.every((fingerprint) => FINGERPRINT.test(fingerprint)))
      throw new PinakesError('SLIM_NOTES', { where: path });
    at += bytes.length;
    yield fingerprints;
  }
}

/** Copies a file durably. False when the directory is read-only, so that its files cannot be replaced either. */
async function putDurably(from: string, to: string): Promise<boolean> {
  const place = dirname(to);
  try {
    mkdirSync(place, { recursive: true });
    copyFileSync(from, `${to}.tmp`);
    const descriptor = openSync(`${to}.tmp`, 'r+');
    try {
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    renameSync(`${to}.tmp`, to);
    await syncDirectory(place);
    await syncDirectory(dirname(place));
    return true;
  } catch (cause) {
    const isUnwritable = UNWRITABLE.has((cause as NodeJS.ErrnoException).code ?? '');
    if (!isUnwritable || isWritable(dirname(place))) throw fileError(cause, to, 'writing');
    return false;
  }
}

function isWritable(directory: string): boolean {
  try {
    accessSync(directory, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
