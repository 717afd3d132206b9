/**
 * Commands of the command line that run in the server, because it has the archive open. Their output goes back in
 * frames (see frame.ts). Those that take long or change much are jobs too: the web page shows them and can cancel them.
 * Who only looks makes no job.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { type Frame, PinakesError, readFrames } from '../../base/index.ts';
import { badRequest, HttpProblem } from '../http/problem.ts';
import { closed } from '../shape.ts';
import { CommandJob, EXIT_INTERRUPTED, EXIT_REFUSED } from './command-job.ts';
import { type CommandStart, CommandTalk, UNWATCHED } from './command-talk.ts';
import type { CommandRunner, JobKind } from './job-kind.ts';
import type { JobQueue } from './job-queue.ts';

const COMMANDS_MAX = 16;

const START = Compile(
  closed({
    argv: Type.Array(Type.String({ maxLength: 100_000 }), { minItems: 1, maxItems: 10_000 }),
    directory: Type.String({ minLength: 1, maxLength: 4096 }),
    isTerminal: Type.Boolean(),
    columns: Type.Integer({ minimum: 1, maximum: 10_000 }),
  }),
);

export class CommandService {
  readonly #run: CommandRunner;
  readonly #jobs: JobQueue;
  readonly #kinds: readonly JobKind[];
  readonly #stopping: AbortSignal;
  #running = 0;

  constructor(run: CommandRunner, jobs: JobQueue, kinds: readonly JobKind[], stopping: AbortSignal) {
    this.#run = run;
    this.#jobs = jobs;
    this.#kinds = kinds;
    this.#stopping = stopping;
  }

  /**
   * Serves one command, from its first frame to its exit code. `begin` is called when the reply is ours from now on.
   */
  async serve(request: IncomingMessage, response: ServerResponse, begin: () => void): Promise<void> {
    if (this.#running >= COMMANDS_MAX || this.#stopping.aborted) throw TOO_MANY;
    this.#running++;
    try {
      const frames = readFrames(request);
      const start = await receiveStart(frames);
      begin();
      const talk = new CommandTalk(frames, response);
      await talk.end(await this.#carryOut(start, talk));
    } finally {
      this.#running--;
    }
  }

  async #carryOut(start: CommandStart, talk: CommandTalk): Promise<number> {
    const verb = start.argv.find((argument) => !argument.startsWith('-')) ?? '';
    const kind = this.#kinds.find(({ name }) => name === verb);
    if (kind && !isOnlyLooking(verb, start.argv)) return this.#runAsJob(start, talk, kind);
    return this.#runAtOnce(talk, (controller) =>
      this.#run(talk.command(start, { ...UNWATCHED, signal: controller.signal })),
    );
  }

  async #runAsJob(start: CommandStart, talk: CommandTalk, kind: JobKind): Promise<number> {
    // A deletion looks and asks first, and nothing should have to wait for a person: it is a job from when it begins to
    // delete.
    const asksFirst = kind.name === 'delete';
    const lane = asksFirst ? undefined : (kind.lane ?? 'write');
    if (lane !== undefined && this.#jobs.isBusy(lane)) await talk.say('waiting until the job before is done');
    return this.#runAtOnce(talk, async (controller) => {
      const job = new CommandJob(start, talk, kind, lane, controller);
      try {
        if (!asksFirst && !(await job.begin(this.#jobs))) return EXIT_INTERRUPTED;
      } catch (error) {
        if (!(error instanceof PinakesError)) throw error;
        await talk.say(`pinakes: ${error.message} [${error.code}]`);
        return EXIT_REFUSED;
      }
      return job.end(
        this.#run(
          talk.command(
            start,
            job.watch(() => job.begin(this.#jobs)),
          ),
        ),
      );
    });
  }

  async #runAtOnce(talk: CommandTalk, work: (controller: AbortController) => Promise<number>): Promise<number> {
    const controller = new AbortController();
    const abort = () => controller.abort();
    talk.signal.addEventListener('abort', abort, { once: true });
    this.#stopping.addEventListener('abort', abort, { once: true });
    if (talk.signal.aborted || this.#stopping.aborted) abort();
    try {
      return await work(controller);
    } finally {
      this.#stopping.removeEventListener('abort', abort);
    }
  }
}

/** What changes nothing and is over soon is no job, though its verb is one. */
function isOnlyLooking(verb: string, argv: readonly string[]): boolean {
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
    // Told below, like everything that is no command.
  }
  throw badRequest('this is no command', 'Use the command line of the same version as the server.');
}

const TOO_MANY = new HttpProblem({
  status: 429,
  code: 'TOO_MANY_COMMANDS',
  message: 'too many commands run in this server, or it is stopping',
  advice: 'Wait until some are done.',
});
