/** `pinakes warc cat`: prints one record, or a part of it, on standard output. */
import { existsSync } from 'node:fs';
import { badArgument, type Finding, PinakesError, utf8 } from '../../base/index.ts';
import {
  BlockScanner,
  RECORD_TRAILER,
  type ReadingRecord,
  type RecordHead,
  type WarcInput,
  warcFinding,
  warcInputs,
} from '../../warc/index.ts';
import type { CommandContext } from '../command.ts';
import { printDecoded } from '../decoded-output.ts';
import { EXIT_FINE } from '../outcome.ts';
import { formatFinding, type Terminal } from '../terminal.ts';

export type CatOptions = {
  readonly headers?: boolean;
  readonly payload?: boolean;
  readonly decoded?: boolean;
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
  const { offset, inner } = placeOf(place);
  const findings: Finding[] = [];
  const onFinding = (finding: Finding) => findings.push(finding);
  const { file, name } = packageOf(path);
  for await (const input of namedInput(file, name, onFinding)) {
    for await (const record of input.read({ offset, signal, onFinding })) {
      if (record.head.offset !== offset) break;
      if (inner !== undefined && record.head.innerOffset !== inner) continue;
      if (record.head.format === 'arc' && (await isInsideLine(input, record.head))) break;
      await print(context, input, record, options);
      for (const finding of findings) terminal.say(formatFinding(finding));
      return EXIT_FINE;
    }
  }
  throw new PinakesError('NO_RECORD', { where: `${path}:${place}` });
}

/**
 * Whether the offset points into the header line of an ARC record. In an uncompressed ARC file, the end of a header
 * line can be read as a complete line with another URL.
 */
async function isInsideLine(input: WarcInput, { offset, bytes }: RecordHead): Promise<boolean> {
  if (offset === 0) return false;
  const around: number[] = [];
  for await (const piece of input.slice(offset - 1, 2)) around.push(...piece);
  return around[1] === bytes[0] && around[0] !== 0x0a;
}

/** `OFFSET`, or `OFFSET+INNER` for a record that shares its member with others. */
function placeOf(place: string): { offset: number; inner: number | undefined } {
  const match = /^(\d+)(?:\+(\d+))?$/.exec(place);
  if (!match) throw badArgument(place, 'an offset is a number, as `warc ls` shows it');
  return { offset: Number(match[1]), inner: match[2] === undefined ? undefined : Number(match[2]) };
}

/** `x.wacz!archive/data.warc.gz` names a file in a package, unless a file of this name exists. */
function packageOf(path: string): { file: string; name: string | undefined } {
  for (let at = path.indexOf('!'); at >= 0 && !existsSync(path); at = path.indexOf('!', at + 1)) {
    if (existsSync(path.slice(0, at))) return { file: path.slice(0, at), name: path };
  }
  return { file: path, name: undefined };
}

/** The input with this name. Without a name, the file must contain exactly one input. */
async function* namedInput(
  file: string,
  name: string | undefined,
  onFinding: (finding: Finding) => void,
): AsyncGenerator<WarcInput> {
  const names: string[] = [];
  for await (const input of warcInputs(file, () => {})) names.push(input.name);
  const wanted = name ?? (names.length === 1 ? names[0]! : undefined);
  if (wanted === undefined || !names.includes(wanted)) {
    const detail =
      names.length > 0
        ? `the package contains ${names.join(', ')}; name one as PACKAGE!FILE`
        : 'the package has no WARC files';
    throw badArgument(name ?? file, detail);
  }
  for await (const input of warcInputs(file, onFinding)) if (input.name === wanted) yield input;
}

async function print(
  context: CommandContext,
  input: WarcInput,
  record: ReadingRecord,
  options: CatOptions,
): Promise<void> {
  const { terminal } = context;
  if (options.raw) return printRaw(terminal, input, record);
  if (options.headers) return printHeaders(terminal, record);
  if (options.payload || options.decoded) {
    const isSound = await printPayload(context, record, options.decoded === true);
    if (!isSound) terminal.say(formatFinding(warcFinding('content-coding-broken', input.name, record.head.offset)));
    return;
  }
  if (!options.block) await terminal.write(record.head.bytes);
  for await (const piece of record.body()) await terminal.write(Buffer.from(piece));
  // With this end of the record, the output is a WARC or ARC file of one record.
  if (!options.block && record.tail?.isComplete)
    await terminal.write(record.head.format === 'arc' ? utf8('\n') : RECORD_TRAILER);
}

async function printHeaders(terminal: Terminal, record: ReadingRecord): Promise<void> {
  const scanner = new BlockScanner(record.head, {});
  for await (const piece of record.body()) scanner.push(piece);
  await terminal.write(record.head.bytes);
  const { http } = scanner.end();
  if (http) await terminal.write(http.bytes);
}

/** Returns false when `isDecoded`, and a content coding could not be removed to the end. */
async function printPayload(
  { terminal, signal }: CommandContext,
  record: ReadingRecord,
  isDecoded: boolean,
): Promise<boolean> {
  const held: Uint8Array[] = [];
  const scanner = new BlockScanner(record.head, { onPayload: (bytes) => held.push(Buffer.from(bytes)) });
  async function* payload() {
    for await (const piece of record.body()) {
      scanner.push(piece);
      yield* held.splice(0);
    }
    scanner.end();
    yield* held.splice(0);
  }
  const codings = () => (isDecoded ? (scanner.http?.contentCodings ?? []) : []);
  return printDecoded(terminal, payload(), codings, signal);
}

/** Prints the bytes as stored in the file, still compressed. */
async function printRaw(terminal: Terminal, input: WarcInput, record: ReadingRecord): Promise<void> {
  for await (const _ of record.body());
  const length = record.tail?.length;
  if (length === undefined) {
    const detail = 'the record shares a compressed member with others, so its bytes cannot be printed alone';
    throw new PinakesError('NO_RECORD', { where: `${input.name}:${record.head.offset}`, detail });
  }
  for await (const bytes of input.slice(record.head.offset, length)) await terminal.write(Buffer.from(bytes));
}
