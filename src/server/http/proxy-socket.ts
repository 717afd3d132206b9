/**
 * A Unix socket for a proxy. Who may write to it decides who may connect: its owner and its group. A directory with
 * another group and the setgid bit gives the socket that group. What a killed server left is removed.
 */
import { chmod, lstat, unlink } from 'node:fs/promises';
import { type ListeningOptions, ListeningSocket } from './listening-socket.ts';

const SOCKET_MODE = 0o660;

export async function listenForProxy(path: string, options: ListeningOptions): Promise<ListeningSocket> {
  const info = await lstat(path).catch(() => undefined);
  // Anything else stays, and is reported as being in the way.
  if (info?.isSocket()) await unlink(path);
  const socket = await ListeningSocket.listen({ path }, options);
  await chmod(path, SOCKET_MODE);
  return socket;
}
