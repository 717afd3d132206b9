/**
 * The history of jobs: `jobs.jsonl` in the archive, one line of JSON for each change of state. The last line of a job
 * is its state. A line is durable before the change has any other effect. When most lines are outdated, the whole file
 * is rewritten. A torn last line is ignored.
 */
import { type FileHandle, open, readFile, rename, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { fileError, syncDirectory, writingFile } from '../../base/index.ts';
import type { Job } from '../job.ts';
import { FILE_MODE, makePrivate } from './private-file.ts';

/** The file is rewritten when it has more lines than this plus four for each job. */
const LINES_SPARE = 500;

export class JobJournal {
  readonly #path: string;
  #file: FileHandle;
  #lines: number;
  /** The length up to the last whole line. */
  #bytes: number;
  #last: Promise<unknown> = Promise.resolve();

  private constructor(path: string, file: FileHandle, lines: number, bytes: number) {
    this.#path = path;
    this.#file = file;
    this.#lines = lines;
    this.#bytes = bytes;
  }

  /** Opens the journal, and returns its jobs in order of creation. */
  static async open(path: string): Promise<{ journal: JobJournal; jobs: Job[] }> {
    return writingFile(path, async () => {
      const text = await readFile(path, 'utf8').catch((cause: { code?: string }) => {
        if (cause.code === 'ENOENT') return '';
        throw cause;
      });
      const jobs = new Map<string, Job>();
      const lines = text.split('\n').filter((line) => line !== '');
      for (const line of lines) {
        const job = parseJob(line);
        if (job) jobs.set(job.id, job);
      }
      const file = await open(path, 'a', FILE_MODE);
      await makePrivate(path);
      // Otherwise the next line would be appended to the torn line, and be lost with it.
      if (text !== '' && !text.endsWith('\n')) await file.appendFile('\n');
      const { size } = await file.stat();
      await syncDirectory(dirname(path));
      return { journal: new JobJournal(path, file, lines.length, size), jobs: [...jobs.values()] };
    });
  }

  /** Appends the state of a job. `kept` returns all jobs of the history, for rewriting the file. */
  write(job: Job, kept: () => readonly Job[]): Promise<void> {
    const line = Buffer.from(`${JSON.stringify(job)}\n`);
    return this.#inTurn(async () => {
      await this.#append(line);
      const jobs = kept();
      // The line is durable. When rewriting fails, a later write tries again.
      if (this.#lines > 4 * jobs.length + LINES_SPARE) await this.#rewrite(jobs).catch(() => {});
    });
  }

  async close(): Promise<void> {
    await this.#inTurn(() => this.#file.close());
  }

  /**
   * Appends a line. Removes a line that was cut off, as on a full disk, because the next line would be lost with it.
   */
  async #append(line: Uint8Array): Promise<void> {
    try {
      await this.#file.appendFile(line);
      await this.#file.datasync();
    } catch (error) {
      await this.#file.truncate(this.#bytes).catch(() => {});
      throw error;
    }
    this.#bytes += line.length;
    this.#lines++;
  }

  async #rewrite(jobs: readonly Job[]): Promise<void> {
    const temporary = `${this.#path}.tmp`;
    await unlink(temporary).catch(() => {});
    const file = await open(temporary, 'ax', FILE_MODE);
    let bytes = 0;
    try {
      for (const job of jobs) {
        const line = Buffer.from(`${JSON.stringify(job)}\n`);
        await file.appendFile(line);
        bytes += line.length;
      }
      await file.sync();
      await rename(temporary, this.#path);
    } catch (error) {
      await file.close();
      await unlink(temporary).catch(() => {});
      throw error;
    }
    const old = this.#file;
    this.#file = file;
    this.#lines = jobs.length;
    this.#bytes = bytes;
    await old.close();
    await syncDirectory(dirname(this.#path));
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const next = this.#last.then(work).catch((cause: unknown) => {
      throw fileError(cause, this.#path, 'writing');
    });
    this.#last = next.catch(() => {});
    return next;
  }
}

function parseJob(line: string): Job | undefined {
  try {
    const job = JSON.parse(line) as Partial<Job> | null;
    const isJob = typeof job?.id === 'string' && typeof job.kind === 'string' && typeof job.state === 'string';
    return isJob && Array.isArray(job.log) ? (job as Job) : undefined;
  } catch {
    return undefined;
  }
}
