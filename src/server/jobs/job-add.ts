/** Jobs of the kind `add`: files on the machine of the server, by their paths, or one that was uploaded. */
import { realpath } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { type Static, Type } from 'typebox';
import type { Finding, PinakesError } from '../../base/index.ts';
import { type InputFile, type InputFiles, inputFiles } from '../../warc/index.ts';
import { badRequest, HttpProblem } from '../http/problem.ts';
import { closed, NewCollection } from '../shape.ts';
import type { JobContext, JobKind } from './job-kind.ts';
import { kindOfJob, toldFailures } from './kind-of-job.ts';
import { givenName, type UploadStore } from './upload-store.ts';

const AddInput = closed({
  paths: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 4096 }), {
      minItems: 1,
      maxItems: 1000,
      description: 'Files on the machine of the server, or directories with WARC, ARC and WACZ files below them.',
    }),
  ),
  upload: Type.Optional(Type.String({ maxLength: 200, description: 'A file that was sent to /api/uploads.' })),
  collection: Type.Optional(NewCollection),
  volume: Type.Optional(Type.String({ maxLength: 100 })),
  inPlace: Type.Optional(Type.Boolean({ description: 'Use the files where they lie; not for uploads.' })),
});

export function addKind(uploads: UploadStore, roots: readonly string[] | undefined): JobKind {
  return kindOfJob({
    name: 'add',
    input: AddInput,
    run: async (context, { paths, upload, ...options }) => {
      if ((paths === undefined) === (upload === undefined))
        throw badRequest('paths or an upload, one of the two', 'Name the files to add.');
      if (upload === undefined) {
        const found = await filesBelow(paths!, roots, context.signal);
        return add(context, found, options, (file) => file);
      }
      const found = await inputFiles([uploads.pathOf(upload)], { signal: context.signal });
      return add(context, found, { ...options, inPlace: false }, () => givenName(upload));
    },
  });
}

/** The files of these paths, all of them below the roots. */
async function filesBelow(
  paths: readonly string[],
  roots: readonly string[] | undefined,
  signal: AbortSignal,
): Promise<InputFiles> {
  // Before the walk, so that nothing is told of what lies elsewhere; and behind it, for where links lead.
  await checkRoots(paths, roots);
  const found = await inputFiles(paths, { signal });
  await checkRoots(pathsOf(found), roots);
  return found;
}

type AddJobOptions = Pick<Static<typeof AddInput>, 'collection' | 'volume' | 'inPlace'>;

/** Adds the files, and tells of them by the names that the client knows them by. */
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
  return { ...counts, errors, warnings, inputBytes: found.bytes, failed: toldFailures(failures) };
}

function pathsOf({ files }: InputFiles): string[] {
  return files.map(({ path }) => path);
}

/** Where each file begins in the bytes of all. */
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

/** Links lead out of directories; so it is where files really lie that counts. */
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
        message: 'files may not be added from here',
        advice: 'Upload the file, or have the server started with its directory among those that files are added from.',
        where: path,
      });
  }
}

/** Where a path really leads; of one that leads nowhere, where it would. */
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
