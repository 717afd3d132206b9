/**
 * The files of jobs on the machine of this server: uploads that wait to be added, and exports to download. The history
 * keeps a job as long as its file is needed.
 *
 * In a cluster the file of a job is on the machine of one server, which its row names. Servers may share a directory,
 * so a server that starts leaves young files alone: they may be of a job that another one is about to submit.
 */
import { join } from 'node:path';
import type { Archive } from '../../archive/index.ts';
import type { IdSource } from '../../base/index.ts';
import { isInterrupted, isOver, type Job, type JobQueue } from '../../jobs/index.ts';
import { HttpProblem } from '../http/problem.ts';
import { uploadOf } from './add-kind.ts';
import { ExportStore, exportOf } from './export-store.ts';
import { UploadStore } from './upload-store.ts';

const UPLOADS_DIRECTORY = 'uploads';
const EXPORTS_DIRECTORY = 'exports';
const YOUNG_MS = 24 * 60 * 60 * 1000;

export type JobFilesOptions = {
  readonly archive: Archive;
  readonly queue: JobQueue;
  readonly newId: IdSource;
  readonly uploadBytesMax: number | undefined;
};

export class JobFiles {
  readonly uploads: UploadStore;
  readonly exports: ExportStore;
  readonly #queue: JobQueue;

  private constructor(uploads: UploadStore, exports: ExportStore, queue: JobQueue) {
    this.uploads = uploads;
    this.exports = exports;
    this.#queue = queue;
  }

  /** Opens the files that the jobs of the queue need, removes the others, and starts the queue. */
  static async open({ archive, queue, newId, uploadBytesMax }: JobFilesOptions): Promise<JobFiles> {
    const known = await queue.list();
    const isShared = queue.server !== undefined;
    const youngSince = isShared ? archive.clock() - YOUNG_MS : Number.POSITIVE_INFINITY;
    const exports = await ExportStore.open(
      join(archive.directory, EXPORTS_DIRECTORY),
      (id) => known.some((job) => job.id === id && (job.state === 'done' || (isShared && !isOver(job)))),
      youngSince,
    );
    // A job of the last server that had not ended counts as interrupted, and can be run again.
    const waiting = new Set(known.flatMap((job) => (isOver(job) && !isInterrupted(job) ? [] : [uploadOf(job.input)])));
    const uploads = await UploadStore.open(
      { directory: join(archive.directory, UPLOADS_DIRECTORY), newId, bytesMax: uploadBytesMax, youngSince },
      (name) => waiting.has(name),
    );
    const files = new JobFiles(uploads, exports, queue);
    await queue.start({ keeps, onOver: (job) => files.#onOver(job) });
    await files.#releaseMissing();
    return files;
  }

  /** Refuses to add an uploaded file that is on the machine of another server. */
  async requireUpload(upload: string): Promise<void> {
    if (upload === '' || this.#queue.server === undefined || this.uploads.has(upload)) return;
    const job = (await this.#queue.list()).find(({ input }) => uploadOf(input) === upload);
    if (job) this.requireHere(job);
  }

  /** Refuses what needs a file of a job of another server. */
  requireHere({ server }: Job): void {
    if (server === undefined || server === this.#queue.server) return;
    throw new HttpProblem({
      status: 409,
      code: 'FILE_ELSEWHERE',
      message: `the file is on the machine of the server ${server}`,
      advice: 'Send the request to that server.',
    });
  }

  async removeUpload(upload: string): Promise<void> {
    await this.uploads.remove(upload);
    for (const job of await this.#queue.list())
      if (isOver(job) && uploadOf(job.input) === upload) await this.#queue.release(job.id);
  }

  /** Returns false when the job has no file. */
  async removeExport(jobId: string): Promise<boolean> {
    if (!(await this.exports.remove(jobId))) return false;
    await this.#queue.release(jobId);
    return true;
  }

  async #onOver(job: Job): Promise<void> {
    const upload = uploadOf(job.input);
    if (job.origin === 'api' && upload !== '' && !isInterrupted(job)) await this.removeUpload(upload);
  }

  /** Lets the history drop jobs of this server whose file is gone. */
  async #releaseMissing(): Promise<void> {
    for (const job of await this.#queue.list()) {
      if (!isOver(job) || job.server !== this.#queue.server || !keeps(job)) continue;
      const upload = uploadOf(job.input);
      const hasFile = this.exports.has(job.id) || (isInterrupted(job) && upload !== '' && this.uploads.has(upload));
      if (!hasFile) await this.#queue.release(job.id);
    }
  }
}

/** Whether an ended job may have a file. */
function keeps(job: Job): boolean {
  return exportOf(job) !== undefined || (isInterrupted(job) && uploadOf(job.input) !== '');
}
