/**
 * Runs commands of the command line in the server, because the server has the archive open. Their output is returned in
 * frames (base/frame.ts). Long commands and commands that change the archive are also jobs, which the web interface
 * shows and can cancel. Commands that only read are not jobs.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { type Frame, PinakesError, readFrames, whenAborted } from '../../base/index.ts';
import type { JobRunner } from '../../jobs/index.ts';
import { badRequest, HttpProblem } from '../http/problem.ts';
import { closed } from '../schema.ts';
import { CommandConnection, type CommandStart, UNOBSERVED } from './command-connection.ts';
import { CommandJob, EXIT_INTERRUPTED, EXIT_REFUSED } from './command-job.ts';
import type { JobKind } from './job-kind.ts';
import type { CommandRunner } from './remote-command.ts';

const COMMANDS_MAX = 16;

const START = Compile(
  closed({
    argv: Type.Array(Type.String({ maxLength: 100_000 }), { minItems: 1, maxItems: 10_000 }),
    directory: Type.String({ minLength: 1, maxLength: 4096 }),
    isTerminal: Type.Boolean(),
    columns: Type.Integer({ minimum: 1, maximum: 10_000 }),
    user: Type.String({ maxLength: 200 }),
  }),
);

export class CommandService {
  readonly #run: CommandRunner;
  readonly #jobs: JobRunner;
  readonly #kinds: readonly JobKind[];
  readonly #stopping: AbortSignal;
  #running = 0;

  constructor(run: CommandRunner, jobs: JobRunner, kinds: readonly JobKind[], stopping: AbortSignal) {
    this.#run = run;
    this.#jobs = jobs;
    this.#kinds = kinds;
    this.#stopping = stopping;
  }

  /** Serves one command, from its first frame to its exit code. `begin` is called before the reply is written. */
  async serve(request: IncomingMessage, response: ServerResponse, begin: () => void): Promise<void> {
    if (this.#running >= COMMANDS_MAX || this.#stopping.aborted) throw TOO_MANY;
    this.#running++;
    try {
      const frames = readFrames(request);
      const start = await receiveStart(frames);
      begin();
      const connection = new CommandConnection(frames, response);
      await connection.end(await this.#execute(start, connection));
    } finally {
      this.#running--;
    }
  }

  async #execute(start: CommandStart, connection: CommandConnection): Promise<number> {
    const verb = start.argv.find((argument) => !argument.startsWith('-')) ?? '';
    const kind = this.#kinds.find(({ name }) => name === verb);
    if (kind && !onlyReads(verb, start.argv)) return this.#runAsJob(start, connection, kind);
    return this.#runAtOnce(connection, (controller) =>
      this.#run(connection.command(start, { ...UNOBSERVED, signal: controller.signal })),
    );
  }

  async #runAsJob(start: CommandStart, connection: CommandConnection, kind: JobKind): Promise<number> {
    // A deletion or takedown first shows a preview and asks. Other jobs must not wait for a person, so it becomes a job
    // only when it starts to delete.
    const asksFirst = kind.name === 'delete' || kind.name === 'takedown';
    const lane = asksFirst ? undefined : (kind.lane ?? 'write');
    if (lane !== undefined && (await this.#jobs.queue.isBusy(lane)))
      await connection.say('waiting for another job to end');
    return this.#runAtOnce(connection, async (controller) => {
      const job = new CommandJob(start, connection, kind, lane, controller);
      try {
        if (!asksFirst && !(await job.begin(this.#jobs))) return EXIT_INTERRUPTED;
      } catch (error) {
        if (!(error instanceof PinakesError)) throw error;
        await connection.say(`pinakes: ${error.message} [${error.code}]`);
        return EXIT_REFUSED;
      }
      return job.end(
        this.#run(
          connection.command(
            start,
            job.observer(() => job.begin(this.#jobs)),
          ),
        ),
      );
    });
  }

  async #runAtOnce(
    connection: CommandConnection,
    work: (controller: AbortController) => Promise<number>,
  ): Promise<number> {
    const controller = new AbortController();
    const abort = () => controller.abort();
    using _left = whenAborted(connection.signal, abort);
    using _stopping = whenAborted(this.#stopping, abort);
    return await work(controller);
  }
}

/** Whether a command only reads and ends soon, although other commands with the same verb are jobs. */
function onlyReads(verb: string, argv: readonly string[]): boolean {
  if (argv.some((argument) => argument === '--dry-run' || argument === '--help' || argument === '-h')) return true;
  const isAboutSchedules = argv.some(
    (argument, at) =>
      argument === '--schedules' ||
      argument === '--every=never' ||
      (argument === 'never' && argv[at - 1] === '--every'),
  );
  return verb === 'crawl' && isAboutSchedules;
}

async function receiveStart(frames: AsyncGenerator<Frame>): Promise<CommandStart> {
  try {
    const first = await frames.next();
    const start: unknown =
      first.done || first.value.kind !== 'C' ? undefined : JSON.parse(first.value.bytes.toString());
    if (START.Check(start)) return start;
  } catch {
    // Reported below, like any other request that is not a command.
  }
  throw badRequest('the request is not a command', 'Use a command line of the same version as the server.');
}

const TOO_MANY = new HttpProblem({
  status: 429,
  code: 'TOO_MANY_COMMANDS',
  message: 'too many commands run in this server, or it is stopping',
  advice: 'Wait until some commands are done.',
});
