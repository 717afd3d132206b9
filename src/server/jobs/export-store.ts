/**
 * The files of export jobs: `exports/<job>/<file>` in the archive. They stay until a client removes them. Files of jobs
 * that did not succeed are removed at the next start.
 */
import { createReadStream } from 'node:fs';
import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type EpochMs, writingFile } from '../../base/index.ts';
import { DIRECTORY_MODE, type Job, makePrivate } from '../../jobs/index.ts';
import { type Downloadable, downloadMime } from '../http/download.ts';

export class ExportStore {
  readonly #directory: string;
  readonly #jobs: Set<string>;

  private constructor(directory: string, jobs: Set<string>) {
    this.#directory = directory;
    this.#jobs = jobs;
  }

  /** Removes what is not kept, unless it has changed since `youngSince`. */
  static async open(
    directory: string,
    isKept: (jobId: string) => boolean,
    youngSince: EpochMs = Number.POSITIVE_INFINITY,
  ): Promise<ExportStore> {
    const kept = new Set<string>();
    await writingFile(directory, async () => {
      await mkdir(directory, { recursive: true, mode: DIRECTORY_MODE });
      await makePrivate(directory);
      for (const name of await readdir(directory)) {
        const path = join(directory, name);
        if (isKept(name)) {
          await makePrivate(path);
          for (const file of await readdir(path)) await makePrivate(join(path, file));
          kept.add(name);
        } else if ((await stat(path)).mtimeMs < youngSince) await rm(path, { recursive: true, force: true });
      }
    });
    return new ExportStore(directory, kept);
  }

  /** The path for the file of a job. The job must report it as `file` and `href`. */
  async createPath(jobId: string, name: string): Promise<string> {
    await writingFile(this.#directory, () =>
      mkdir(join(this.#directory, jobId), { recursive: true, mode: DIRECTORY_MODE }),
    );
    this.#jobs.add(jobId);
    return join(this.#directory, jobId, name);
  }

  /** Closes the finished file of a job to other users. */
  async finish(path: string): Promise<void> {
    await writingFile(path, () => makePrivate(path));
  }

  has(jobId: string): boolean {
    return this.#jobs.has(jobId);
  }

  /** The file that the job reported under this name. No other file is ever opened. */
  async find(job: Job, name: string): Promise<Downloadable | undefined> {
    const file = exportOf(job, name);
    if (file === undefined) return undefined;
    const path = join(this.#directory, job.id, name);
    const info = await stat(path).catch(() => undefined);
    if (!info?.isFile()) return undefined;
    return {
      filename: file,
      mime: downloadMime(file),
      bytes: info.size,
      tag: `${job.id}-${info.size}-${Math.floor(info.mtimeMs)}`,
      read: (from, to) => createReadStream(path, { start: from, end: to - 1 }),
    };
  }

  /** Returns false when the job has no file. */
  async remove(jobId: string): Promise<boolean> {
    if (!this.#jobs.has(jobId)) return false;
    await rm(join(this.#directory, jobId), { recursive: true, force: true });
    return this.#jobs.delete(jobId);
  }
}

/** The file of an ended export job, whose address must have this name. */
export function exportOf(job: Job, name?: string): string | undefined {
  const { file, href } = (job.report ?? {}) as { file?: unknown; href?: unknown };
  if (job.state !== 'done' || typeof file !== 'string' || typeof href !== 'string') return undefined;
  return name === undefined || href === exportHref(job.id, name) ? file : undefined;
}

/** The address of the file of a job. */
export function exportHref(jobId: string, name: string): string {
  return `/api/exports/${jobId}/${name}`;
}
