/** Runs `pinakes volume serve` as a process of its own, in a temporary folder, with a key for a bucket. */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { toBase32 } from '../../src/base/index.ts';
import { addVolumeKey } from '../../src/server/index.ts';

const MAIN = resolve(import.meta.dirname, '../../src/cli/main.ts');
const BUCKET = 'archive';

export type VolumeKeyFile = { readonly accessKeyId: string; readonly secretAccessKey: string };

export type VolumeServerProcess = VolumeKeyFile & {
  /** `http://127.0.0.1:PORT`. */
  readonly endpoint: string;
  readonly bucket: string;
  /** The directory of the server, which outlives it: the objects are at `<directory>/<bucket>/<key>`. */
  readonly directory: string;
  readonly child: ChildProcess;
  /** What the server has written to standard error. */
  readonly said: () => string;
  /** Adds another key. */
  readonly addKey: (name: string, prefix: string, rights: 'read' | 'write') => Promise<VolumeKeyFile>;
  /** Stops the server gracefully. */
  readonly stop: () => Promise<void>;
  /** Ends the server at once, as a crash does. */
  readonly kill: () => Promise<void>;
  /** Starts the server again on the same directory, with the same key, at another port. */
  readonly restart: () => Promise<VolumeServerProcess>;
  /** Stops the server, and removes the directory. */
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

export type VolumeServerProcessOptions = {
  /** Arguments of `volume serve`. */
  readonly args?: readonly string[];
  /** Arguments of Node, before the program. */
  readonly nodeArgs?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** A directory that exists, with a key that was added before. */
  readonly on?: { readonly directory: string; readonly key: VolumeKeyFile };
};

export async function startVolumeServerProcess(options: VolumeServerProcessOptions = {}): Promise<VolumeServerProcess> {
  const { args = [], nodeArgs = [], env = {} } = options;
  const directory = options.on?.directory ?? (await mkdtemp(join(tmpdir(), 'pinakes-volume-server-')));
  const key = options.on?.key ?? (await addKeyTo(directory, 'main', BUCKET, 'write'));
  const child = spawn(
    process.execPath,
    [...nodeArgs, MAIN, 'volume', 'serve', directory, '--listen', '127.0.0.1:0', '--json', ...args],
    { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, PINAKES_PROGRAM: 'pinakes', ...env } },
  );
  let said = '';
  child.stderr.on('data', (piece) => (said += piece));
  const ended = once(child, 'exit');
  const line = await Promise.race([once(createInterface(child.stdout), 'line'), ended.then(() => undefined)]);
  if (!line) throw new Error(`the volume server did not start: ${said}`);
  const { url } = JSON.parse(line[0] as string) as { url: string };
  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal);
    await ended;
  };
  return {
    ...key,
    endpoint: url,
    bucket: BUCKET,
    directory,
    child,
    said: () => said,
    addKey: (name, prefix, rights) => addKeyTo(directory, name, prefix, rights),
    stop: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
    restart: async () => {
      if (child.exitCode === null && child.signalCode === null) await end('SIGTERM');
      return startVolumeServerProcess({ ...options, on: { directory, key } });
    },
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode === null && child.signalCode === null) await end('SIGKILL');
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** Adds a key to the directory of a volume server. */
export async function addKeyTo(
  directory: string,
  name: string,
  prefix: string,
  rights: 'read' | 'write',
): Promise<VolumeKeyFile> {
  const id = { accessKeyId: toBase32(randomBytes(12)), secret: randomBytes(30).toString('base64url') };
  const { accessKeyId, secret } = await addVolumeKey(directory, { name, prefix, rights, ...id });
  return { accessKeyId, secretAccessKey: secret };
}
