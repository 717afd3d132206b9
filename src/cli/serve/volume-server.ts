/** `pinakes volume serve`: serves a directory as a volume over S3 until a signal stops it. */
import { readFile } from 'node:fs/promises';
import { BlockList, isIP } from 'node:net';
import { badArgument, readingFile } from '../../base/index.ts';
import {
  isAddressOrNetwork,
  type RunningVolumeServer,
  startVolumeServer,
  type TlsIdentity,
} from '../../server/index.ts';
import type { CommandContext } from '../command.ts';
import { EXIT_FINE } from '../outcome.ts';
import { logFormatOf, openAccessLog } from './access-log.ts';
import { failureText } from './failure-text.ts';
import { listenForStop } from './stop-signals.ts';

export type VolumeServeOptions = {
  readonly listen: string;
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly insecure?: boolean;
  readonly accessLog?: string;
  readonly accessLogFormat: string;
  readonly proxy?: readonly string[];
  readonly json?: boolean;
};

export async function volumeServe(
  context: CommandContext,
  directory: string,
  options: VolumeServeOptions,
): Promise<number> {
  const { terminal, clock, newId } = context;
  const { host, port } = placeOf(options.listen);
  const tls = await tlsOf(options);
  if (!tls && !options.insecure && !isLoopback(host))
    throw badArgument(
      `--listen ${options.listen}`,
      'other machines need encrypted connections: add --tls-cert and --tls-key, or --insecure in a network that you trust',
    );
  for (const proxy of options.proxy ?? [])
    if (!isAddressOrNetwork(proxy)) throw badArgument(proxy, '--proxy needs an IP address or a network');
  const format = logFormatOf(options.accessLogFormat);
  const log = options.accessLog === undefined ? undefined : await openAccessLog(context, options.accessLog, format);
  try {
    const server = await startVolumeServer({
      directory,
      host,
      port,
      tls,
      clock,
      newId,
      stopwatch: () => performance.now(),
      proxies: options.proxy,
      onAccess: log?.write,
      onFailure: (error) => terminal.say(`pinakes: a request failed: ${failureText(error)}`),
    });
    const stop = listenForStop(context);
    try {
      await printAddress(context, directory, server, options);
      await stop.asked;
      await server.close({ force: stop.force });
    } finally {
      stop.end();
      await server.close();
    }
    terminal.say('pinakes: stopped; everything is saved');
    return EXIT_FINE;
  } finally {
    log?.close();
  }
}

async function printAddress(
  { terminal }: CommandContext,
  directory: string,
  { url, syncsNames }: RunningVolumeServer,
  options: VolumeServeOptions,
): Promise<void> {
  if (options.json) await terminal.json({ url, directory, syncsNames });
  else {
    await terminal.line(`${directory} is served at ${url}`);
    terminal.say('Press Ctrl-C to stop the server.');
  }
  if (!syncsNames)
    terminal.say(
      'The names of new files cannot be synced here. The contents of what is acknowledged are on the disk, but a power cut can lose the names of the last seconds.',
    );
}

/** `HOST:PORT`, or `[IPV6]:PORT`. */
function placeOf(text: string): { host: string; port: number } {
  const [, bracketed, plain, port] = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  if (host === undefined || Number(port) > 65535)
    throw badArgument(text, '--listen needs an address and a port, like 127.0.0.1:9000 or [::1]:9000');
  return { host, port: Number(port) };
}

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8);
LOOPBACK.addAddress('::1', 'ipv6');

function isLoopback(host: string): boolean {
  return host === 'localhost' || (isIP(host) !== 0 && LOOPBACK.check(host, isIP(host) === 6 ? 'ipv6' : 'ipv4'));
}

async function tlsOf({ tlsCert, tlsKey }: VolumeServeOptions): Promise<TlsIdentity | undefined> {
  if (tlsCert === undefined && tlsKey === undefined) return undefined;
  if (tlsCert === undefined || tlsKey === undefined)
    throw badArgument(tlsCert ?? tlsKey ?? '', '--tls-cert and --tls-key go together');
  const [cert, key] = await Promise.all(
    [tlsCert, tlsKey].map((path) => readingFile(path, () => readFile(path, 'utf8'))),
  );
  return { cert: cert!, key: key! };
}
