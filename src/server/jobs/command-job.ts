/**
 * A command as a job. The output of the command becomes the log of the job; its result and exit code become the report.
 */
import { PinakesError, whenAborted } from '../../base/index.ts';
import { isInterrupted, type Job, type JobRunner } from '../../jobs/index.ts';
import { HttpProblem } from '../http/problem.ts';
import type { CommandConnection, CommandObserver, CommandStart } from './command-connection.ts';
import type { JobContext, JobKind } from './job-kind.ts';

export const EXIT_REFUSED = 2;
export const EXIT_INTERRUPTED = 130;

export class CommandJob {
  readonly #start: CommandStart;
  readonly #connection: CommandConnection;
  readonly #kind: JobKind;
  readonly #lane: string | undefined;
  readonly #controller: AbortController;
  readonly #code = Promise.withResolvers<number>();
  #context: JobContext | undefined;
  #over: Promise<Job> | undefined;
  #report: object = {};

  /** `controller` stops the command. */
  constructor(
    start: CommandStart,
    connection: CommandConnection,
    kind: JobKind,
    lane: string | undefined,
    controller: AbortController,
  ) {
    this.#start = start;
    this.#connection = connection;
    this.#kind = kind;
    this.#lane = lane;
    this.#controller = controller;
    // When the job never begins, nothing awaits this promise.
    this.#code.promise.catch(() => {});
  }

  /** Waits until the job runs. Returns false when it was cancelled before that. */
  async begin(jobs: JobRunner): Promise<boolean> {
    const begun = Promise.withResolvers<boolean>();
    const { argv, directory, user } = this.#start;
    const { job, over } = await jobs
      .submit(this.#kind.name, {
        origin: 'command',
        by: { kind: 'system', name: user },
        input: { argv, directory },
        lane: this.#lane,
        run: (context) => {
          begun.resolve(true);
          return this.#run(context);
        },
      })
      .catch(asRefusal);
    this.#over = over;
    const cancel = () => void jobs.queue.cancel(job.id).catch(() => {});
    whenAborted(this.#connection.signal, cancel);
    return Promise.race([begun.promise, over.then(() => false)]);
  }

  /** Passes the messages and the report of the command to the job. */
  observer(begin: () => Promise<boolean>): CommandObserver {
    return {
      signal: this.#controller.signal,
      status: (text) => this.#context?.progress({ done: 0, unit: '', message: text }),
      say: (line) => this.#context?.say(line),
      // An export may print the exported data, which the log must not contain.
      print: (line) => (this.#kind.name === 'export' ? undefined : this.#context?.say(line)),
      report: (report) => {
        this.#report = report;
      },
      begins: async () => {
        if (!(await begin())) throw new DOMException('the job was cancelled before it began', 'AbortError');
      },
    };
  }

  /** Settles with the exit code of the command, after the job has ended too. */
  async end(running: Promise<number>): Promise<number> {
    running.then(this.#code.resolve, this.#code.reject);
    const code = await running;
    const job = await this.#over;
    return job && (job.state === 'cancelled' || isInterrupted(job)) ? EXIT_INTERRUPTED : code;
  }

  async #run(context: JobContext): Promise<unknown> {
    this.#context = context;
    const { signal } = context;
    whenAborted(signal, () => this.#controller.abort());
    const code = await this.#code.promise;
    const report = { exitCode: code, ...this.#report };
    context.report(report);
    if (code === EXIT_INTERRUPTED) signal.throwIfAborted();
    if (code >= EXIT_REFUSED) throw failure(this.#kind.name, code, this.#connection.lastSaid);
    return report;
  }
}

function asRefusal(error: unknown): never {
  if (error instanceof HttpProblem)
    throw new PinakesError('SERVER_REFUSED', { where: 'jobs', detail: error.problem.message, cause: error });
  throw error;
}

function failure(verb: string, code: number, lastSaid: string): HttpProblem {
  return new HttpProblem({
    status: 500,
    code: 'COMMAND_FAILED',
    message: lastSaid || `the command ended with exit code ${code}`,
    advice: 'The terminal where the command was started shows its whole output.',
    where: verb,
  });
}
