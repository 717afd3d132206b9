/**
 * Files on other servers that are added in place: which there are below an address, and a copy of one of them in the
 * archive's scratch folder while its records are entered. The copy is removed afterwards. So records are scanned on
 * threads as those of other files are, and are those of one version of the file.
 */
import { open, statfs, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { fileError, PinakesError } from '../../base/index.ts';
import { type InspectedFile, isS3Url, RemoteFiles, type RemoteOptions, type RemotePlace } from '../../volume/index.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import { placeOf } from '../segment/remote-place.ts';

export type RemoteInputOptions = RemoteOptions & { readonly signal?: AbortSignal | undefined };

export type RemoteInput = { readonly path: string; readonly bytes: number };

export type RemoteInputs = {
  readonly files: RemoteInput[];
  readonly failures: PinakesError[];
};

const ARCHIVE_KEY = /\.w?arc(\.gz|\.zst)?$/i;

/** Copies are named by a number, since a key may be too long or odd for the name of a file. */
let copies = 0;

/**
 * The files that addresses name, for `add` with `inPlace`: the file itself, or the WARC and ARC files below
 * `s3://bucket/prefix/`.
 */
export async function remoteInputs(
  archive: Pick<OpenedArchive, 'clock' | 'connector'>,
  urls: readonly string[],
  options: RemoteInputOptions = {},
): Promise<RemoteInputs> {
  const remote = new RemoteFiles('linked', archive.clock);
  const found: RemoteInputs = { files: [], failures: [] };
  try {
    for (const url of urls) {
      try {
        found.files.push(...(await filesAt(remote, placeOf(archive, url, options), options.signal)));
      } catch (error) {
        options.signal?.throwIfAborted();
        if (!(error instanceof PinakesError)) throw error;
        found.failures.push(error);
      }
    }
  } finally {
    await remote.close();
  }
  return found;
}

async function filesAt(
  remote: RemoteFiles,
  place: RemotePlace,
  signal: AbortSignal | undefined,
): Promise<RemoteInput[]> {
  if (!isS3Url(place.url) || !/\/$/.test(place.url)) {
    const { file } = await remote.inspect(place, { signal });
    return [{ path: file.url, bytes: file.bytes }];
  }
  const files: RemoteInput[] = [];
  for await (const page of remote.list(place, { signal }))
    for (const { place, bytes } of page) if (ARCHIVE_KEY.test(place.url)) files.push({ path: place.url, bytes });
  if (files.length === 0) throw new PinakesError('NO_WARCS', { where: place.url });
  return files;
}

export type RemoteCopy = { readonly path: string } & AsyncDisposable;

/** Copies a file into the scratch folder. Disposing of the copy removes it. */
export async function copyRemote(
  archive: OpenedArchive,
  remote: RemoteFiles,
  file: InspectedFile,
  options: { readonly signal?: AbortSignal | undefined; onBytes(bytes: number): void },
): Promise<RemoteCopy> {
  await assertRoom(archive, file);
  const path = join(archive.scratch, `remote-${process.pid}-${++copies}`);
  const remove = () => unlink(path).catch(() => {});
  try {
    await using copy = await open(path, 'w');
    let bytes = 0;
    for await (const piece of remote.stream(file, 0, file.bytes, options)) {
      await copy.writeFile(piece);
      bytes += piece.length;
      options.onBytes(bytes);
    }
  } catch (cause) {
    await remove();
    throw cause instanceof PinakesError ? cause : fileError(cause, path, 'writing');
  }
  return { path, [Symbol.asyncDispose]: remove };
}

async function assertRoom(archive: OpenedArchive, { url, bytes }: InspectedFile): Promise<void> {
  await archive.growing(async () => {});
  const { bavail, bsize } = await statfs(archive.scratch);
  if (bavail * bsize > bytes) return;
  const detail = `the copy of ${url} that is read needs ${bytes} bytes until its records are entered`;
  throw new PinakesError('DISK_FULL', { where: archive.scratch, detail });
}
