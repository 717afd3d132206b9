/** `pinakes put` and `pinakes cat` for an archive that another machine serves. */
import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { badArgument, PinakesError, readingFile } from '../../base/index.ts';
import type { ContentSource, ContentsClient } from '../../client/index.ts';
import { type CommandContext, inputBytes, resolveTypedPath } from '../command.ts';
import { EXIT_FINE } from '../outcome.ts';
import type { PutCommandOptions } from './put.ts';

/** More standard input is not kept in memory. */
const STDIN_BYTES_MAX = 256 * 1024 * 1024;

export async function httpPut(
  context: CommandContext,
  client: ContentsClient,
  file: string,
  options: PutCommandOptions,
): Promise<number> {
  const { terminal, clock, newId } = context;
  if (options.mode !== undefined && options.mode !== 'regular')
    throw badArgument(`--mode ${options.mode}`, 'a server stores in the mode regular only');
  if (options.volume !== undefined) throw badArgument('--volume', 'the server chooses the volume');
  const content = file === '-' ? await bytesOf(context) : await fileSource(resolveTypedPath(context, file));
  const { mime, collection } = options;
  const { keys, refused, known, stored } = await client.store([{ content, ...(mime !== undefined && { mime }) }], {
    id: newId(),
    time: new Date(clock()),
    ...(collection !== undefined && { collection }),
  });
  const [refusal] = refused;
  if (refusal?.code === 'CONTENT_BARRED') throw new PinakesError('CONTENT_BARRED', { where: file });
  if (stored + known === 0) throw new PinakesError('REMOTE_REFUSED', { where: file, detail: refusal?.message ?? '' });
  if (options.json) await terminal.json({ key: keys[0] });
  else await terminal.line(keys[0]!);
  return EXIT_FINE;
}

export async function httpCat(
  { terminal, signal }: CommandContext,
  client: ContentsClient,
  key: string,
): Promise<number> {
  const content = await client.get(key);
  if (!content) throw new PinakesError('CONTENT_MISSING', { where: key });
  for await (const piece of content) {
    signal.throwIfAborted();
    await terminal.write(piece);
  }
  return EXIT_FINE;
}

/** A file as a content: its digest, and its bytes when they are wanted. */
export async function fileSource(path: string, from = 0, to = Number.POSITIVE_INFINITY): Promise<ContentSource> {
  await using file = await readingFile(path, () => open(path));
  const end = Math.min(to, (await file.stat()).size);
  const hashed = createHash('sha256');
  const stream = file.createReadStream({ start: from, end: Math.max(from, end - 1), autoClose: false });
  if (end > from) for await (const piece of stream) hashed.update(piece as Buffer);
  return {
    digest: hashed.digest('hex'),
    size: end - from,
    read: (begin, until) => readPart(path, from + begin, from + until),
  };
}

export async function readPart(path: string, from: number, to: number): Promise<Buffer> {
  await using file = await readingFile(path, () => open(path));
  const buffer = Buffer.allocUnsafe(to - from);
  let filled = 0;
  while (filled < buffer.length) {
    const { bytesRead } = await file.read(buffer, filled, buffer.length - filled, from + filled);
    if (bytesRead === 0) throw new PinakesError('FILE_CHANGED', { where: path });
    filled += bytesRead;
  }
  return buffer;
}

async function bytesOf(context: CommandContext): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of inputBytes(context, '-')) {
    bytes += piece.length;
    if (bytes > STDIN_BYTES_MAX)
      throw badArgument('-', 'standard input is too large to be sent; write it to a file and store that');
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}
