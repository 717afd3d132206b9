/**
 * Commands on an archive that a server has open: they run in the server, and this end lends them its terminal. They
 * reach it over the socket that the owner file names, which only the user of the server can open. What they print comes
 * back in frames (see base/frame.ts), what they ask is asked here, Ctrl-C is passed on, and the exit code is theirs.
 */
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { hostname } from 'node:os';
import { ownerOf } from '../archive/index.ts';
import {
  FRAME_BYTES_MAX,
  FRAMES_MIME,
  type Frame,
  fileError,
  formatFrame,
  PinakesError,
  readFrames,
} from '../base/index.ts';
import type { CommandContext } from './command.ts';
import { EXIT_INTERRUPTED } from './outcome.ts';

const REFUSAL_BYTES_MAX = 64 * 1024;
/** What the system says of a socket at which no process listens any more. */
const GONE: ReadonlySet<string> = new Set(['ECONNREFUSED', 'ENOENT']);
const FORBIDDEN = 'only the user who started it may run commands in it';

/**
 * Has the server that has the archive open run what was typed here, and answers with the exit code; undefined when
 * there is no such server.
 */
export async function runInServer(context: CommandContext, archiveDirectory: string): Promise<number | undefined> {
  const owner = await ownerOf(archiveDirectory);
  const { tokenFile, commandPath } = owner?.server ?? {};
  // A server on another machine announces a path that means something there.
  if (tokenFile === undefined || commandPath === undefined || owner!.host !== hostname()) return undefined;
  try {
    return await run(context, commandPath, await tokenIn(tokenFile));
  } catch (error) {
    // The server is about to go or was killed, and opening the archive tells more than this.
    const { code } = ((error as Error).cause ?? {}) as { code?: string };
    if (error instanceof PinakesError && error.code === 'SERVER_GONE' && GONE.has(code ?? '')) return undefined;
    throw error;
  }
}

async function run(context: CommandContext, commandPath: string, token: string): Promise<number> {
  // Loaded only here: it takes as long as all the rest of a small command.
  const { request: httpRequest } = await import('node:http');
  const request = httpRequest({
    socketPath: commandPath,
    path: '/api/commands',
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': FRAMES_MIME },
  });
  const { terminal, argv, directory, signal } = context;
  const { isInteractive: isTerminal, columns } = terminal;
  request.write(formatFrame('C', JSON.stringify({ argv, directory, isTerminal, columns })));
  let isInterrupted = false;
  const interrupt = () => {
    isInterrupted = true;
    if (!request.destroyed) request.write(formatFrame('I'));
  };
  signal.addEventListener('abort', interrupt, { once: true });
  if (signal.aborted) interrupt();
  try {
    const response = await replyOf(request, commandPath);
    const code = await new Talk(context, request).follow(response);
    if (code !== undefined) return code;
    if (isInterrupted) return EXIT_INTERRUPTED;
    throw new PinakesError('SERVER_GONE', { where: commandPath, detail: 'it broke off before the command was done' });
  } finally {
    signal.removeEventListener('abort', interrupt);
    request.destroy();
  }
}

async function tokenIn(tokenFile: string): Promise<string> {
  try {
    return (await readFile(tokenFile, 'utf8')).trim();
  } catch (cause) {
    throw fileError(cause, tokenFile);
  }
}

/** The reply, once the server has taken the command. */
async function replyOf(request: ClientRequest, commandPath: string): Promise<IncomingMessage> {
  let response: IncomingMessage;
  try {
    [response] = (await once(request, 'response')) as [IncomingMessage];
  } catch (cause) {
    const isForbidden = ['EACCES', 'EPERM'].includes(String((cause as { code?: unknown }).code));
    if (isForbidden) throw new PinakesError('SERVER_REFUSED', { where: commandPath, detail: FORBIDDEN, cause });
    throw new PinakesError('SERVER_GONE', { where: commandPath, detail: (cause as Error).message, cause });
  }
  // What breaks later shows as an end without an exit code.
  request.on('error', () => {});
  if (response.statusCode === 200) return response;
  let text = '';
  for await (const piece of response) if (text.length < REFUSAL_BYTES_MAX) text += String(piece);
  const detail = refusalIn(text) ?? `status ${response.statusCode}`;
  throw new PinakesError('SERVER_REFUSED', { where: commandPath, detail });
}

function refusalIn(text: string): string | undefined {
  try {
    return (JSON.parse(text) as { error?: { message?: string } }).error?.message;
  } catch {
    return undefined;
  }
}

/** This end of the talk: prints, asks, reads. */
class Talk {
  readonly #context: CommandContext;
  readonly #request: ClientRequest;
  #input: AsyncIterator<Uint8Array> | undefined;
  #piece: Uint8Array = new Uint8Array(0);

  constructor(context: CommandContext, request: ClientRequest) {
    this.#context = context;
    this.#request = request;
  }

  /** The exit code; undefined when the server broke off. */
  async follow(response: IncomingMessage): Promise<number | undefined> {
    const { terminal } = this.#context;
    try {
      for await (const { kind, bytes } of readFrames(broken(response))) {
        if (kind === 'O') await terminal.write(Buffer.from(bytes));
        else if (kind === 'E') terminal.writeError(bytes);
        // A person or a pipe may take for ever, and the command can end meanwhile.
        else if (kind === 'Q') this.#ask(bytes.toString()).catch(() => this.#giveUp());
        else if (kind === 'R') this.#readOn().catch(() => this.#giveUp());
        else if (kind === 'X') return Number(bytes.toString());
      }
    } catch (error) {
      if (!(error instanceof BrokenOff || error instanceof RangeError)) throw error;
    } finally {
      terminal.closeStdin();
    }
    return undefined;
  }

  /** The input cannot be read: the command must not take what it has for all there is. */
  #giveUp(): void {
    this.#send({ kind: 'I', bytes: Buffer.alloc(0) });
  }

  async #ask(question: string): Promise<void> {
    const answer = await this.#context.terminal.ask(question);
    this.#send(
      answer === undefined ? { kind: 'N', bytes: Buffer.alloc(0) } : { kind: 'A', bytes: Buffer.from(answer) },
    );
  }

  async #readOn(): Promise<void> {
    this.#input ??= this.#context.terminal.stdin()[Symbol.asyncIterator]();
    if (this.#piece.length === 0) {
      const next = await this.#input.next();
      if (next.done) return this.#send({ kind: 'Z', bytes: Buffer.alloc(0) });
      this.#piece = next.value;
    }
    const part = Buffer.from(this.#piece.subarray(0, FRAME_BYTES_MAX));
    this.#piece = this.#piece.subarray(FRAME_BYTES_MAX);
    this.#send({ kind: 'D', bytes: part });
  }

  #send({ kind, bytes }: Frame): void {
    if (!this.#request.destroyed) this.#request.write(formatFrame(kind, bytes));
  }
}

/** The connection broke. Told apart from what goes wrong at this end. */
class BrokenOff extends Error {}

async function* broken(response: IncomingMessage): AsyncGenerator<Uint8Array> {
  try {
    yield* response as AsyncIterable<Uint8Array>;
  } catch (cause) {
    throw new BrokenOff('the server broke off', { cause });
  }
}
