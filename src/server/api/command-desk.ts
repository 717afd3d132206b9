/**
 * Commands of the command line that run in the server, because it has the archive open. Their output goes back in frames (see frame.ts). Those that
 * take long are jobs too: the web page shows them and can cancel them.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { type Frame, readFrames } from '../../base/index.ts';
import type { CommandRunner, JobKind } from '../job-kind.ts';
import { badRequest, HttpProblem } from '../problem.ts';
import { type CommandStart, CommandTalk } from './command-talk.ts';
import { INTERRUPTED } from './job.ts';
import type { JobQueue } from './job-queue.ts';
import { closed } from './shape.ts';

const COMMANDS_MAX = 16;
const EXIT_REFUSED = 2;
const EXIT_INTERRUPTED = 130;

const START = Compile(
  closed({
    argv: Type.Array(Type.String({ maxLength: 100_000 }), { minItems: 1, maxItems: 10_000 }),
    directory: Type.String({ minLength: 1, maxLength: 4096 }),
    isTerminal: Type.Boolean(),
    columns: Type.Integer({ minimum: 1, maximum: 10_000 }),
  }),
);

export class CommandDesk {
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

  /** Serves one command, from its first frame to its exit code. `begin` is called when the reply is ours from now on. */
  async serve(request: IncomingMessage, response: ServerResponse, begin: () => void): Promise<void> {
    if (this.#running >= COMMANDS_MAX || this.#stopping.aborted) throw TOO_MANY;
    this.#running++;
    try {
      const frames = readFrames(request);
      const start = await startOf(frames);
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
    if (!kind) return this.#runAtOnce(start, talk);
    // A deletion may ask first, and nothing should have to wait for a person.
    const lane = verb === 'delete' ? undefined : (kind.lane ?? 'write');
    if (lane !== undefined && this.#jobs.isBusy(lane)) await talk.say('waiting until the job before is done');
    let code = EXIT_REFUSED;
    const { job, over } = await this.#jobs.submit({
      kind: verb,
      origin: 'command',
      input: { argv: start.argv, directory: start.directory },
      lane,
      isCancellable: kind.isCancellable,
      run: async ({ signal, say, progress }) => {
        const status = (text: string) => progress({ done: 0, unit: '', message: text });
        code = await this.#run(talk.command(start, { signal, status, say }));
        if (code === EXIT_INTERRUPTED) signal.throwIfAborted();
        if (code >= EXIT_REFUSED) throw failure(verb, code, talk.lastSaid);
        return { exitCode: code };
      },
    });
    const cancel = () => void this.#jobs.cancel(job.id).catch(() => {});
    talk.signal.addEventListener('abort', cancel, { once: true });
    if (talk.signal.aborted) cancel();
    const { state, error } = await over;
    return state === 'cancelled' || error?.code === INTERRUPTED.code ? EXIT_INTERRUPTED : code;
  }

  async #runAtOnce(start: CommandStart, talk: CommandTalk): Promise<number> {
    const controller = new AbortController();
    const abort = () => controller.abort();
    talk.signal.addEventListener('abort', abort, { once: true });
    this.#stopping.addEventListener('abort', abort, { once: true });
    if (talk.signal.aborted || this.#stopping.aborted) abort();
    try {
      return await this.#run(talk.command(start, { signal: controller.signal, status: () => {}, say: () => {} }));
    } finally {
      this.#stopping.removeEventListener('abort', abort);
    }
  }
}

async function startOf(frames: AsyncGenerator<Frame>): Promise<CommandStart> {
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

function failure(verb: string, code: number, said: string): HttpProblem {
  return new HttpProblem({
    status: 500,
    code: 'COMMAND_FAILED',
    message: said || `the command ended with ${code}`,
    advice: 'The terminal that it was begun on shows all that it said.',
    where: verb,
  });
}

const TOO_MANY = new HttpProblem({
  status: 429,
  code: 'TOO_MANY_COMMANDS',
  message: 'too many commands run in this server, or it is stopping',
  advice: 'Wait until some are done.',
});
