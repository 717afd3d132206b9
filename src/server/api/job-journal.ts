/**
 * The history of jobs: `jobs.jsonl` in the archive, one line of JSON for each change of state, the last line of a job counting. A line is durable
 * before the change is told to anybody. The file is written anew, whole, when most of its lines are old; a torn last line is passed over.
 */
import { type FileHandle, open, readFile, rename } from 'node:fs/promises';
import { fileError } from '../../base/index.ts';
import type { Job } from './job.ts';

const LINES_SPARE = 500;

export class JobJournal {
  readonly #path: string;
  #file: FileHandle;
  #lines: number;
  #last: Promise<unknown> = Promise.resolve();

  private constructor(path: string, file: FileHandle, lines: number) {
    this.#path = path;
    this.#file = file;
    this.#lines = lines;
  }

  /** Opens the journal, and says which jobs it tells of, in the order they were made. */
  static async open(path: string): Promise<{ journal: JobJournal; jobs: Job[] }> {
    try {
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
      const file = await open(path, 'a');
      // A torn line must not swallow the one that comes after it.
      if (text !== '' && !text.endsWith('\n')) await file.appendFile('\n');
      return { journal: new JobJournal(path, file, lines.length), jobs: [...jobs.values()] };
    } catch (cause) {
      throw fileError(cause, path, 'writing');
    }
  }

  /** Writes a job down as it is now. `kept` are all jobs worth keeping, for when the file is written anew. */
  write(job: Job, kept: () => readonly Job[]): Promise<void> {
    const line = `${JSON.stringify(job)}\n`;
    return this.#inTurn(async () => {
      await this.#file.appendFile(line);
      await this.#file.datasync();
      this.#lines++;
      const jobs = kept();
      if (this.#lines > 4 * jobs.length + LINES_SPARE) await this.#renew(jobs);
    });
  }

  async close(): Promise<void> {
    await this.#inTurn(() => this.#file.close());
  }

  async #renew(jobs: readonly Job[]): Promise<void> {
    const temporary = `${this.#path}.tmp`;
    const file = await open(temporary, 'w');
    try {
      for (const job of jobs) await file.appendFile(`${JSON.stringify(job)}\n`);
      await file.sync();
      await rename(temporary, this.#path);
    } catch (error) {
      await file.close();
      throw error;
    }
    await this.#file.close();
    this.#file = file;
    this.#lines = jobs.length;
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
