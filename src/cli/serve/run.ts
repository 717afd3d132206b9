/** `pinakes serve`: opens an archive and serves it over HTTP until a signal stops it. */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { open, readFile, realpath, rm, stat } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Archive, createArchive, openArchive } from '../../archive/index.ts';
import { badArgument, limitHeapGrowth, limitYoungSpace, readingFile, writingFile } from '../../base/index.ts';
import {
  isAddressOrNetwork,
  isEverywhere,
  isLoopback,
  parseRate,
  type Rate,
  type RunningServer,
  type ServerOptions,
  startServer,
  Telemetry,
} from '../../server/index.ts';
import { openingOptions } from '../archive-command.ts';
import { type CommandContext, resolveTypedPath } from '../command.ts';
import { EXIT_FINE } from '../outcome.ts';
import { counted } from '../terminal.ts';
import { VERSION } from '../version.ts';
import { type AccessLog, logFormatOf, openAccessLog } from './access-log.ts';
import { failureText } from './failure-text.ts';
import { commandRunner } from './remote-runner.ts';
import { type SignInFlags, signInOf } from './sign-in-flags.ts';
import { listenForStop } from './stop-signals.ts';

const TOKEN_NAME = 'server-token';
const LEAVE_SECONDS_MAX = 86_400;

export type ServeOptions = SignInFlags & {
  readonly socketDirectory?: string;
  readonly archive: string;
  readonly port: string;
  readonly replayPort: string;
  readonly host: string;
  readonly uiOrigin?: string;
  readonly replayOrigin?: string;
  readonly accessLog?: string;
  readonly accessLogFormat: string;
  readonly token?: string;
  readonly addRoot?: readonly string[];
  readonly uploadMax?: string;
  readonly leaveSeconds?: string;
  readonly rateLimit?: string;
  readonly connections?: string;
  readonly connectionsPerAddress?: string;
  readonly proxy?: readonly string[];
  readonly private?: boolean;
  readonly insecure?: boolean;
  readonly init?: boolean;
  readonly index?: boolean;
  readonly json?: boolean;
};

/** `onReady` is called with the address of the web interface when the server is ready. */
export async function serve(
  context: CommandContext,
  options: ServeOptions,
  onReady?: (uiUrl: string) => void,
): Promise<number> {
  const logFormat = logFormatOf(options.accessLogFormat);
  const settings = await settingsOf(context, options);
  // Jobs run in this process. They add files and crawl sites with untrusted content, which can take much memory.
  limitHeapGrowth();
  limitYoungSpace();
  await prepare(context, options);
  const telemetry = await openTelemetry(context);
  const { observe } = telemetry;
  const archive = await openArchive(options.archive, { ...openingOptions(context, 'serve'), observe });
  let isOpen = true;
  const tokenFile = join(resolve(options.archive), TOKEN_NAME);
  let log: AccessLog | undefined;
  try {
    if (options.accessLog !== undefined) log = await openAccessLog(context, options.accessLog, logFormat);
    // The index of an archive that is only read stays as it is.
    const isIndexing = settings.isIndexing && !archive.isOld;
    const onAccess = log?.write;
    const server = await startServer({
      ...serverOptions(context, archive),
      ...settings,
      isIndexing,
      onAccess,
      telemetry,
    });
    // Listens before the server is announced, because a signal may arrive directly after the announcement.
    const stop = listenForStop(context);
    try {
      await writeToken(tokenFile, settings.token);
      await archive.announceServer({ url: reachable(server.uiAddress), tokenFile, commandPath: server.commandPath });
      await printAddresses(context, options, archive, server, settings.token);
      onReady?.(server.uiUrl);
      await stop.asked;
      await server.close({ force: stop.force });
    } finally {
      stop.end();
      await server.close();
    }
    isOpen = false;
    await archive.close();
    context.terminal.say('pinakes: stopped; everything is saved');
    return EXIT_FINE;
  } finally {
    if (isOpen) await archive.close();
    await rm(tokenFile, { force: true });
    log?.close();
  }
}

/** Metrics, and traces when the environment names a place for them. */
function openTelemetry({ terminal }: CommandContext): Promise<Telemetry> {
  return Telemetry.open({
    stopwatch: () => performance.now(),
    version: VERSION,
    environment: process.env,
    onFailure: (sentence) => terminal.say(`pinakes: ${sentence}`),
  });
}

type Settings = Awaited<ReturnType<typeof settingsOf>>;

/** The settings of the server that come from the options of the command. */
async function settingsOf(context: CommandContext, options: ServeOptions) {
  refuseInsecure(options);
  return {
    host: options.host,
    isPrivate: options.private ?? false,
    ...portsOf(options),
    uiOrigin: originOf(options.uiOrigin, '--ui-origin'),
    replayOrigin: originOf(options.replayOrigin, '--replay-origin'),
    token: await tokenOf(options.token),
    addRoots: options.addRoot && (await Promise.all(options.addRoot.map((root) => rootOf(context, root)))),
    uploadBytesMax: options.uploadMax === undefined ? undefined : bytesOf(options.uploadMax, '--upload-max'),
    proxies: options.proxy?.map(proxyOf),
    rate: rateOf(options.rateLimit),
    connections: connectionsOf(options),
    leaveMs: options.leaveSeconds === undefined ? undefined : 1000 * secondsOf(options.leaveSeconds),
    isIndexing: options.index !== false,
    signIn: await signInOf(options),
    socketPaths: socketPathsOf(context, options),
  };
}

/** Archived pages and the web page have origins of their own, which a Unix socket does not tell. */
function socketPathsOf(context: CommandContext, options: ServeOptions): ServerOptions['socketPaths'] {
  const { socketDirectory, uiOrigin, replayOrigin } = options;
  if (socketDirectory === undefined) return undefined;
  if (uiOrigin === undefined || replayOrigin === undefined)
    throw badArgument(
      '--socket-directory',
      'browsers reach the server through a proxy; give --ui-origin and --replay-origin',
    );
  const directory = resolve(resolveTypedPath(context, socketDirectory));
  return { ui: join(directory, 'web.sock'), replay: join(directory, 'replay.sock') };
}

/** The server speaks plain HTTP, so tokens and pages can be read on the way to another machine. */
function refuseInsecure({ host, insecure = false }: ServeOptions): void {
  if (insecure || isLoopback(host)) return;
  const detail =
    'other machines would use plain HTTP; listen on 127.0.0.1 behind a proxy with TLS, or add --insecure where the network is trusted';
  throw badArgument(`--host ${host}`, detail);
}

/** Resolves symbolic links, so that a later change of a link does not open another directory. */
async function rootOf(context: CommandContext, given: string): Promise<string> {
  const path = resolve(resolveTypedPath(context, given));
  const root = await readingFile(path, () => realpath(path));
  const info = await readingFile(path, () => stat(root));
  if (info.isDirectory()) return root;
  throw badArgument(path, '--add-root needs a directory');
}

/** The port of the web interface and the port of archived pages. */
export function portsOf(
  options: Pick<ServeOptions, 'port' | 'replayPort'>,
): Pick<ServerOptions, 'port' | 'replayPort'> {
  const port = portOf(options.port, '--port');
  const replayPort = portOf(options.replayPort, '--replay-port');
  if (port === replayPort && port !== 0)
    throw badArgument(
      `--port ${port} --replay-port ${replayPort}`,
      'the web page and archived pages need two different ports',
    );
  return { port, replayPort };
}

function portOf(text: string, option: string): number {
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port > 65535) throw badArgument(text, `${option} needs a number up to 65535`);
  return port;
}

function bytesOf(text: string, option: string): number {
  if (!/^[1-9]\d{0,14}$/.test(text)) throw badArgument(text, `${option} needs a number of bytes`);
  return Number(text);
}

function secondsOf(text: string): number {
  const isInRange = /^\d{1,5}$/.test(text) && Number(text) <= LEAVE_SECONDS_MAX;
  if (!isInRange) throw badArgument(text, `--leave-seconds needs a number of seconds up to ${LEAVE_SECONDS_MAX}`);
  return Number(text);
}

function rateOf(text: string | undefined): Rate | undefined {
  const rate = text === undefined ? undefined : parseRate(text);
  if (text !== undefined && !rate) throw badArgument(text, '--rate-limit needs a rate like 50/s, 600/m or 10000/h');
  return rate;
}

function connectionsOf({ connections, connectionsPerAddress }: ServeOptions): ServerOptions['connections'] {
  const count = (text: string, option: string) => {
    if (!/^[1-9]\d{0,6}$/.test(text)) throw badArgument(text, `${option} needs a number of connections`);
    return Number(text);
  };
  return {
    ...(connections !== undefined && { inAllMax: count(connections, '--connections') }),
    ...(connectionsPerAddress !== undefined && {
      perAddressMax: count(connectionsPerAddress, '--connections-per-address'),
    }),
  };
}

function proxyOf(text: string): string {
  if (!isAddressOrNetwork(text)) throw badArgument(text, '--proxy needs an IP address or a network like 172.18.0.0/16');
  return text;
}

function originOf(text: string | undefined, option: string): string | undefined {
  if (text === undefined) return undefined;
  const isOrigin = URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
  if (!isOrigin) throw badArgument(text, `${option} needs an origin like https://host:port`);
  return new URL(text).origin;
}

async function tokenOf(given: string | undefined): Promise<string> {
  if (given === undefined) return randomBytes(24).toString('base64url');
  const tokenFile = given.startsWith('@') ? given.slice(1) : undefined;
  const token =
    tokenFile === undefined ? given : (await readingFile(tokenFile, () => readFile(tokenFile, 'utf8'))).trim();
  if (!/^[\x21-\x7e]{8,512}$/.test(token)) throw badArgument('--token', 'a token has at least 8 printable characters');
  return token;
}

async function prepare({ terminal, newId }: CommandContext, options: ServeOptions): Promise<void> {
  if (!options.init || existsSync(join(options.archive, 'archive.yaml'))) return;
  const { PINAKES_CATALOG: address } = process.env;
  const isNew = await createArchive(options.archive, address ? { catalog: { address, newId } } : {});
  if (!isNew) terminal.say(`The archive in the database is used; ${options.archive} is the directory of this machine.`);
  else terminal.say(`There was no archive in ${options.archive}, so an empty one was created.`);
}

function serverOptions(context: CommandContext, archive: Archive): Omit<ServerOptions, keyof Settings> {
  const { clock, newId, terminal } = context;
  const uiDirectory = findUi();
  if (uiDirectory === undefined)
    terminal.say('The web page is not built; `npm run ui` builds it. Everything else is served.');
  return {
    archive,
    uiDirectory,
    clock,
    newId,
    version: VERSION,
    program: terminal.program,
    jobKinds: [],
    runCommand: commandRunner(context, archive),
    stopwatch: () => performance.now(),
    onIndexFailure: (sentence) => terminal.say(`pinakes: ${sentence}`),
    onFailure: (error) => terminal.say(`pinakes: a request failed: ${failureText(error)}`),
  };
}

/** The built web interface is beside the program in the published package, and in build/ in a checkout. */
function findUi(): string | undefined {
  return ['../../ui/', '../../../build/ui/']
    .map((path) => fileURLToPath(new URL(path, import.meta.url)))
    .find((directory) => existsSync(join(directory, 'index.html')));
}

/** Writes the token to a file that only this user can read from the moment it is created. */
async function writeToken(path: string, token: string): Promise<void> {
  await rm(path, { force: true });
  await writingFile(path, async () => {
    const file = await open(path, 'wx', 0o600);
    await file.writeFile(`${token}\n`).finally(() => file.close());
  });
}

/** An address of this machine that other machines can use. */
function ownAddress(): string {
  const addresses = Object.values(networkInterfaces()).flatMap((all) => all ?? []);
  return addresses.find(({ family, internal }) => family === 'IPv4' && !internal)?.address ?? 'ADDRESS';
}

/** An address at which programs on this machine reach a server that listens on all addresses. */
function reachable(address: string): string {
  return address.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
}

async function printAddresses(
  { terminal }: CommandContext,
  options: ServeOptions,
  archive: Archive,
  server: RunningServer,
  token: string,
): Promise<void> {
  const { captures } = await archive.totals();
  if (options.json) {
    const { uiUrl, replayUrl, uiAddress, replayAddress } = server;
    await terminal.json({
      archive: resolve(options.archive),
      captures,
      uiUrl,
      replayUrl,
      uiAddress,
      replayAddress,
      token,
    });
    return;
  }
  await terminal.line(`${archive.connector.name}: ${counted(captures, 'capture')}`);
  await terminal.line(`  to read        ${server.uiUrl}/`);
  await terminal.line(`  to change it   ${server.uiUrl}/#token=${encodeURIComponent(token)}`);
  await terminal.line(`  archived pages are served from ${server.replayUrl}`);
  if (!isLoopback(options.host) && !options.private)
    terminal.say('Everyone who reaches this machine can read the archive; changing it needs the token.');
  if (isEverywhere(options.host) && options.uiOrigin === undefined) {
    const { port } = new URL(server.uiUrl);
    terminal.say(`Other machines can open http://${ownAddress()}:${port}/, or use the name of this machine.`);
  }
  terminal.say('Press Ctrl-C to stop the server.');
}
