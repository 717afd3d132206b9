/** Jobs of the kind `add`: files on the machine of the server, by their paths, or one uploaded file. */
import { realpath } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { type Static, Type } from 'typebox';
import type { Finding, PinakesError } from '../../base/index.ts';
import { type InputFile, type InputFiles, inputFiles } from '../../warc/index.ts';
import { badRequest, HttpProblem } from '../http/problem.ts';
import { closed, NewCollection } from '../schema.ts';
import { defineJobKind, type JobContext, type JobKind, listedFailures } from './job-kind.ts';
import { givenName, type UploadStore } from './upload-store.ts';

const AddInput = closed({
  paths: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 4096 }), {
      minItems: 1,
      maxItems: 1000,
      description: 'Files on the machine of the server, or directories that contain WARC, ARC and WACZ files.',
    }),
  ),
  upload: Type.Optional(
    Type.String({ maxLength: 200, description: 'The name of a file that was sent to /api/uploads.' }),
  ),
  collection: Type.Optional(NewCollection),
  volume: Type.Optional(Type.String({ maxLength: 100 })),
  inPlace: Type.Optional(
    Type.Boolean({ description: 'Use the files where they are, without copying. Not for uploads.' }),
  ),
});

export function addKind(uploads: UploadStore, roots: readonly string[] | undefined): JobKind {
  return defineJobKind({
    name: 'add',
    input: AddInput,
    // Another machine may have other files at these paths, and has no upload of this one.
    isLocal: () => true,
    run: async (context, { paths, upload, ...options }) => {
      if ((paths === undefined) === (upload === undefined))
        throw badRequest('the input needs either paths or an upload', 'Name the files to add.');
      if (upload === undefined) {
        const found = await filesBelow(paths!, roots, context.signal);
        return add(context, found, options, (file) => file);
      }
      const found = await inputFiles([uploads.pathOf(upload)], { signal: context.signal });
      return add(context, found, { ...options, inPlace: false }, () => givenName(upload));
    },
  });
}

/** The uploaded file that the input of a job names; empty without one. */
export function uploadOf(input: unknown): string {
  const { upload } = (input ?? {}) as { upload?: unknown };
  return typeof upload === 'string' ? upload : '';
}

/** The files at and below these paths. Throws when one is not below the roots. */
async function filesBelow(
  paths: readonly string[],
  roots: readonly string[] | undefined,
  signal: AbortSignal,
): Promise<InputFiles> {
  // Roots are checked before the walk, to reveal nothing about other directories, and after it, for symbolic links.
  await checkRoots(paths, roots);
  const found = await inputFiles(paths, { signal });
  await checkRoots(pathsOf(found), roots);
  return found;
}

type AddJobOptions = Pick<Static<typeof AddInput>, 'collection' | 'volume' | 'inPlace'>;

/** Adds the files. `nameOf` returns the name that the client knows a file by. */
async function add(
  context: JobContext,
  found: InputFiles,
  { collection = 'default', volume, inPlace = false }: AddJobOptions,
  nameOf: (file: string) => string,
) {
  const starts = startsOf(found.files);
  const findings = { error: 0, warning: 0, note: 0 };
  const report = await context.archive.add(pathsOf(found), {
    collection,
    ...(volume !== undefined && { volume }),
    inPlace,
    signal: context.signal,
    onFinding: (finding) => {
      findings[finding.level]++;
      sayFinding(context, finding, nameOf(finding.file));
    },
    onProgress: ({ file, bytes, captures }) =>
      context.progress({
        done: (starts.get(file) ?? 0) + bytes,
        total: found.bytes,
        unit: 'bytes',
        message: nameOf(file),
        detail: { captures },
      }),
  });
  const failures: PinakesError[] = [...found.failures, ...report.failures];
  if (failures[0] && report.records === 0 && report.filesKnown === 0) throw failures[0];
  const { failures: _, ...counts } = report;
  const { error: errors, warning: warnings } = findings;
  return { ...counts, errors, warnings, inputBytes: found.bytes, failed: listedFailures(failures) };
}

function pathsOf({ files }: InputFiles): string[] {
  return files.map(({ path }) => path);
}

/** Where each file begins in the bytes of all files. */
function startsOf(files: readonly InputFile[]): Map<string, number> {
  const starts = new Map<string, number>();
  let start = 0;
  for (const { path, bytes } of files) {
    starts.set(path, start);
    start += bytes;
  }
  return starts;
}

function sayFinding(context: JobContext, { level, code, offset, message }: Finding, name: string): void {
  if (level !== 'note') context.say(`${name}:${offset}: ${level} ${code}: ${message}`);
}

/** Compares real paths, because symbolic links can lead out of a directory. */
async function checkRoots(paths: readonly string[], roots: readonly string[] | undefined): Promise<void> {
  if (roots === undefined) return;
  const allowed = await Promise.all(roots.map((root) => realpath(root).catch(() => undefined)));
  for (const path of paths) {
    const real = await realPlace(resolve(path));
    const isInside = allowed.some((root) => root !== undefined && isBelow(root, real));
    if (!isInside)
      throw new HttpProblem({
        status: 403,
        code: 'PATH_REFUSED',
        message: 'files may not be added from this path',
        advice: 'Upload the file, or ask the operator to start the server with --add-root for its directory.',
        where: path,
      });
  }
}

/** The real path of a file. For a missing file, the real path that it would have. */
async function realPlace(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch {
    const above = dirname(path);
    return above === path ? path : join(await realPlace(above), basename(path));
  }
}

function isBelow(root: string, path: string): boolean {
  const way = relative(root, path);
  return way !== '..' && !way.startsWith(`..${sep}`);
}
