/**
 * Runs a command in the server that has the archive open; this process lends the command its terminal. The command is
 * sent over the socket that the owner file names, which only the user of the server can open. The output comes back in
 * frames (see base/frame.ts), questions are asked on this terminal, and Ctrl-C and the exit code are passed through.
 */
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { hostname } from 'node:os';
import { ownerOf } from '../archive/index.ts';
import {
  FRAME_BYTES_MAX,
  FRAMES_MIME,
  formatFrame,
  PinakesError,
  readFrames,
  readingFile,
  whenAborted,
} from '../base/index.ts';
import type { CommandContext } from './command.ts';
import { EXIT_INTERRUPTED } from './outcome.ts';

const REFUSAL_BYTES_MAX = 64 * 1024;
/** Error codes of a socket at which no process listens any more. */
const NOT_LISTENING: ReadonlySet<string> = new Set(['ECONNREFUSED', 'ENOENT']);
const FORBIDDEN = 'only the user who started the server may run commands in it';

/**
 * Runs the typed command in the server that has the archive open, and returns its exit code; undefined when no server
 * has the archive open.
 */
export async function runInServer(context: CommandContext, archiveDirectory: string): Promise<number | undefined> {
  const owner = await ownerOf(archiveDirectory);
  const { tokenFile, commandPath } = owner?.server ?? {};
  // The socket path of a server on another machine is a path of that machine.
  if (tokenFile === undefined || commandPath === undefined || owner!.host !== hostname()) return undefined;
  try {
    return await run(context, commandPath, await tokenIn(tokenFile));
  } catch (error) {
    // The server is stopping or was killed. Opening the archive gives a better message than this error.
    const { code } = ((error as Error).cause ?? {}) as { code?: string };
    if (error instanceof PinakesError && error.code === 'SERVER_GONE' && NOT_LISTENING.has(code ?? ''))
      return undefined;
    throw error;
  }
}

async function run(context: CommandContext, commandPath: string, token: string): Promise<number> {
  // Loaded only here: loading node:http takes as long as the rest of a small command.
  const { request: httpRequest } = await import('node:http');
  const request = httpRequest({
    socketPath: commandPath,
    path: '/api/commands',
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': FRAMES_MIME },
  });
  const { terminal, argv, directory, signal, user } = context;
  const { isInteractive: isTerminal, columns } = terminal;
  request.write(formatFrame('C', JSON.stringify({ argv, directory, isTerminal, columns, user })));
  let isInterrupted = false;
  using _ = whenAborted(signal, () => {
    isInterrupted = true;
    if (!request.destroyed) request.write(formatFrame('I'));
  });
  try {
    const response = await replyOf(request, commandPath);
    const code = await new RemoteSession(context, request).follow(response);
    if (code !== undefined) return code;
    if (isInterrupted) return EXIT_INTERRUPTED;
    throw new PinakesError('SERVER_GONE', {
      where: commandPath,
      detail: 'the connection ended before the command was done',
    });
  } finally {
    request.destroy();
  }
}

async function tokenIn(tokenFile: string): Promise<string> {
  return (await readingFile(tokenFile, () => readFile(tokenFile, 'utf8'))).trim();
}

/** Waits until the server accepts the command, and returns its reply. */
async function replyOf(request: ClientRequest, commandPath: string): Promise<IncomingMessage> {
  let response: IncomingMessage;
  try {
    [response] = (await once(request, 'response')) as [IncomingMessage];
  } catch (cause) {
    const isForbidden = ['EACCES', 'EPERM'].includes(String((cause as { code?: unknown }).code));
    if (isForbidden) throw new PinakesError('SERVER_REFUSED', { where: commandPath, detail: FORBIDDEN, cause });
    throw new PinakesError('SERVER_GONE', { where: commandPath, detail: (cause as Error).message, cause });
  }
  // When the connection breaks later, the reply ends without an exit code.
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

/** The client side of a command that runs in the server: prints its output, asks its questions, reads its input. */
class RemoteSession {
  readonly #context: CommandContext;
  readonly #request: ClientRequest;
  #input: AsyncIterator<Uint8Array> | undefined;
  #piece: Uint8Array = new Uint8Array(0);

  constructor(context: CommandContext, request: ClientRequest) {
    this.#context = context;
    this.#request = request;
  }

  /** Returns the exit code; undefined when the connection broke. */
  async follow(response: IncomingMessage): Promise<number | undefined> {
    const { terminal } = this.#context;
    try {
      for await (const { kind, bytes } of readFrames(bytesOf(response))) {
        if (kind === 'O') await terminal.write(Buffer.from(bytes));
        else if (kind === 'E') terminal.writeError(bytes);
        // Not awaited: a person or a pipe may take for ever, and the command can end in the meantime.
        // When the input cannot be read, the command is interrupted: it must not treat what it has as complete.
        else if (kind === 'Q') this.#ask(bytes.toString()).catch(() => this.#send('I'));
        else if (kind === 'R') this.#sendInput().catch(() => this.#send('I'));
        else if (kind === 'X') return Number(bytes.toString());
      }
    } catch (error) {
      if (!(error instanceof ConnectionLost || error instanceof RangeError)) throw error;
    } finally {
      terminal.closeStdin();
    }
    return undefined;
  }

  async #ask(question: string): Promise<void> {
    const answer = await this.#context.terminal.ask(question);
    if (answer === undefined) this.#send('N');
    else this.#send('A', answer);
  }

  async #sendInput(): Promise<void> {
    this.#input ??= this.#context.terminal.stdin()[Symbol.asyncIterator]();
    if (this.#piece.length === 0) {
      const next = await this.#input.next();
      if (next.done) return this.#send('Z');
      this.#piece = next.value;
    }
    const part = this.#piece.subarray(0, FRAME_BYTES_MAX);
    this.#piece = this.#piece.subarray(FRAME_BYTES_MAX);
    this.#send('D', part);
  }

  #send(kind: string, content?: Uint8Array | string): void {
    if (!this.#request.destroyed) this.#request.write(formatFrame(kind, content));
  }
}

/** The connection to the server broke. A separate class distinguishes this from failures in this process. */
class ConnectionLost extends Error {}

async function* bytesOf(response: IncomingMessage): AsyncGenerator<Uint8Array> {
  try {
    yield* response as AsyncIterable<Uint8Array>;
  } catch (cause) {
    throw new ConnectionLost('the connection to the server broke', { cause });
  }
}
