/** `pinakes warc cat`: one record, whole or in part, as bytes on standard output. */
import { open } from 'node:fs/promises';
import { type Finding, PinakesError } from '../base/index.ts';
import { BlockScanner, type ReadingRecord, warcInputs } from '../warc/index.ts';
import type { CommandContext } from './command.ts';
import { EXIT_FINE } from './outcome.ts';
import { formatFinding } from './terminal.ts';

export type CatOptions = {
  readonly headers?: boolean;
  readonly payload?: boolean;
  readonly block?: boolean;
  readonly raw?: boolean;
};

export async function warcCat(
  context: CommandContext,
  path: string,
  place: string,
  options: CatOptions,
): Promise<number> {
  const { terminal, signal } = context;
  const match = /^(\d+)(?:\+(\d+))?$/.exec(place);
  if (!match)
    throw new PinakesError('BAD_ARGUMENT', { where: place, detail: 'an offset is a number, as `warc ls` shows it' });
  const [offset, inner] = [Number(match[1]), Number(match[2] ?? 0)];
  const findings: Finding[] = [];
  const [file, inside] = path.includes('!') ? [path.slice(0, path.indexOf('!')), path] : [path, undefined];
  for await (const input of warcInputs(file, (finding) => findings.push(finding))) {
    if (inside !== undefined && input.name !== inside) continue;
    for await (const record of input.read({ offset, signal, onFinding: (finding) => findings.push(finding) })) {
      if (record.head.offset !== offset) break;
      if (record.head.innerOffset < inner) continue;
      await print(context, file, record, options);
      for (const finding of findings) terminal.say(formatFinding(finding));
      return EXIT_FINE;
    }
  }
  throw new PinakesError('NO_RECORD', { where: `${path}:${place}` });
}

async function print(
  { terminal }: CommandContext,
  file: string,
  record: ReadingRecord,
  options: CatOptions,
): Promise<void> {
  if (options.raw) return printRaw(terminal, file, record);
  if (options.headers) {
    const scanner = new BlockScanner(record.head, {});
    for await (const piece of record.body()) scanner.push(piece);
    await terminal.write(record.head.bytes);
    const { http } = scanner.end();
    if (http) await terminal.write(http.bytes);
    return;
  }
  if (options.payload) return printPayload(terminal, record);
  if (!options.block) await terminal.write(record.head.bytes);
  for await (const piece of record.body()) await terminal.write(Buffer.from(piece));
}

async function printPayload(terminal: CommandContext['terminal'], record: ReadingRecord): Promise<void> {
  let held: Uint8Array[] = [];
  const scanner = new BlockScanner(record.head, { onPayload: (bytes) => held.push(Buffer.from(bytes)) });
  const flush = async () => {
    for (const bytes of held) await terminal.write(bytes);
    held = [];
  };
  for await (const piece of record.body()) {
    scanner.push(piece);
    await flush();
  }
  scanner.end();
  await flush();
}

/** The bytes as they lie in the file, compressed as they are. */
async function printRaw(terminal: CommandContext['terminal'], file: string, record: ReadingRecord): Promise<void> {
  for await (const _ of record.body());
  const length = record.tail?.length;
  if (length === undefined) {
    const detail = 'it shares a compressed member with other records and has no bytes of its own';
    throw new PinakesError('NO_RECORD', { where: `${file}:${record.head.offset}`, detail });
  }
  const handle = await open(file, 'r');
  try {
    const start = record.filePosition;
    for await (const piece of handle.createReadStream({ start, end: start + length - 1, autoClose: false })) {
      await terminal.write(piece as Uint8Array);
    }
  } finally {
    await handle.close();
  }
}
