/**
 * `pinakes stream`: records of the archive to standard output or a file, as WARC or as JSON lines.
 *
 * With a cursor file a stream can be stopped at any moment and run again with the same words: it goes on where it was,
 * and a file that it writes is first cut back to the last whole record that the cursor file vouches for.
 */

import { type FileHandle, open, readFile, rename } from 'node:fs/promises';
import { basename } from 'node:path';
import type { Archive, LineExtension, StreamOrder, StreamPiece, StreamQuery } from '../../archive/index.ts';
import { fileError, PinakesError, refuseExisting, refuseMissingParent } from '../../base/index.ts';
import type { ArchiveCommandOptions } from '../archive-command.ts';
import { type CommandContext, pathFrom } from '../command.ts';
import { DamageTally } from '../damage-tally.ts';
import { EXIT_FINE, EXIT_FOUND } from '../outcome.ts';
import { RunningCount } from '../running-count.ts';
import { formatBytes, type Terminal } from '../terminal.ts';
import { type SelectionOptions, selectionOf } from './delete.ts';

export type StreamCommandOptions = ArchiveCommandOptions &
  SelectionOptions & {
    readonly format?: string;
    readonly order?: string;
    readonly type?: string;
    readonly text?: boolean;
    readonly links?: boolean;
    readonly out?: string;
    readonly force?: boolean;
    readonly cursor?: string;
    readonly cursorFile?: string;
  };

const ORDERS = ['storage', 'url', 'time', 'inlinks', 'rank'] as const;
/** WARC 1.1, section 6, and what the first record of an ARC file is called. */
const TYPES = [
  ...['warcinfo', 'response', 'resource', 'request', 'metadata', 'revisit', 'conversion', 'continuation'],
  'filedesc',
];
type Format = 'warc' | 'json';
/** What each format is, and how names of files that hold it end. */
const FORMATS: Record<Format, { readonly says: string; readonly endings: readonly string[] }> = {
  warc: { says: 'gzipped WARC', endings: ['.warc.gz', '.gz'] },
  json: { says: 'JSON lines', endings: ['.jsonl', '.ndjson', '.json', '.txt'] },
};
const KNOWN_ENDING = /(\.(warc|arc|json|jsonl|ndjson|cdxj?|csv|parquet|wacz|txt|zip|xlsx?))?(\.(gz|zst))?$/;
const SAVE_BYTES = 16 * 1024 * 1024;
const SAVE_MS = 1000;

/** What a cursor file says: where to go on, and how much of the output stands before that. */
type Saved = { readonly cursor: string; readonly bytes: number };

export async function archiveStream(
  context: CommandContext,
  archive: Archive,
  options: StreamCommandOptions,
): Promise<number> {
  const { terminal, signal } = context;
  const cursorFile = options.cursorFile === undefined ? undefined : pathFrom(context, options.cursorFile);
  const out = options.out === undefined || options.out === '-' ? undefined : pathFrom(context, options.out);
  const format = formatOf(options);
  if (out !== undefined) refuseOtherEnding(out, format);
  for (const path of [out, cursorFile]) if (path !== undefined) await refuseMissingParent(path);
  const pages = await pagesOf(archive, options, format);
  const order = await orderOf(archive, options.order ?? 'storage');
  const saved = cursorFile === undefined ? undefined : await readSaved(cursorFile);
  const damage = new DamageTally(terminal);
  const types = options.type === undefined ? undefined : typesOf(options.type);
  const query: StreamQuery = {
    selection: { ...selectionOf(archive, options), ...(types && { types }) },
    order,
    cursor: options.cursor ?? saved?.cursor,
    onDamage: damage.add,
    signal,
  };
  const goingOn = options.cursor === undefined ? saved : undefined;
  const output = await Output.open(terminal, out, goingOn, options.force === true);
  const count = new RunningCount(terminal, 'stream');
  try {
    for await (const piece of piecesOf(archive, query, format, pages)) {
      await output.write(piece);
      if (cursorFile !== undefined && output.isSaveDue) await output.save(cursorFile);
      count.update(formatBytes(output.bytes));
    }
  } finally {
    count.end();
    if (cursorFile !== undefined) await output.save(cursorFile);
    await output.close();
    damage.end();
  }
  if (out !== undefined) terminal.say(`${options.out}: ${formatBytes(output.bytes)} of ${FORMATS[format].says}`);
  if (output.bytes === 0 && damage.count === 0) terminal.say('No record is meant by this, or none is left.');
  return damage.count > 0 ? EXIT_FOUND : EXIT_FINE;
}

/** A type that no record has would leave out, without a word, what was meant. */
function typesOf(asked: string): string[] {
  const types = asked.split(',').map((type) => type.trim().toLowerCase());
  const unknown = types.find((type) => !TYPES.includes(type));
  if (unknown === undefined) return types;
  const detail = `a type of records is ${TYPES.join(', ')}`;
  throw new PinakesError('BAD_ARGUMENT', { where: `--type '${unknown}'`, detail });
}

async function orderOf(archive: Archive, asked: string): Promise<StreamOrder> {
  const name = ORDERS.find((one) => one === asked);
  if (!name) throw new PinakesError('BAD_ARGUMENT', { where: `--order ${asked}`, detail: ORDERS.join(', ') });
  if (name !== 'inlinks' && name !== 'rank') return name;
  // Loaded only here: other streams need no index.
  const { RankingStore } = await import('../../search/index.ts');
  return new RankingStore(archive).ranking(name);
}

function formatOf(options: StreamCommandOptions): Format {
  const format = options.json ? 'json' : (options.format ?? 'warc');
  if (format === 'warc' || format === 'json') return format;
  // As the HTTP interface calls it.
  if (format === 'jsonl') return 'json';
  const detail = 'warc or jsonl; `pinakes export FILE.parquet` writes a table';
  throw new PinakesError('BAD_ARGUMENT', { where: `--format ${format}`, detail });
}

/** A name that promises something else would mislead whoever opens the file; one that promises nothing is fine. */
function refuseOtherEnding(path: string, format: Format): void {
  const { endings, says } = FORMATS[format];
  const [ending] = KNOWN_ENDING.exec(basename(path).toLowerCase())!;
  if (ending === '' || endings.includes(ending)) return;
  const detail = `--format ${format} gives ${says}, in a file whose name ends in ${endings.join(' or ')}`;
  throw new PinakesError('BAD_ARGUMENT', { where: path, detail });
}

/** What lines say of pages, when that is asked for. */
async function pagesOf(
  archive: Archive,
  { text = false, links = false }: StreamCommandOptions,
  format: Format,
): Promise<LineExtension | undefined> {
  if (!text && !links) return undefined;
  const where = text ? '--text' : '--links';
  if (format !== 'json')
    throw new PinakesError('BAD_ARGUMENT', { where, detail: 'only JSON lines have it; say --json' });
  // Loaded only here: other streams read no pages.
  const { pageExtension } = await import('../../search/index.ts');
  return pageExtension({ text, links }, archive.documentMemory);
}

function piecesOf(
  archive: Archive,
  query: StreamQuery,
  format: Format,
  pages: LineExtension | undefined,
): AsyncIterable<StreamPiece> {
  return format === 'warc' ? archive.streamWarc(query) : archive.streamJson(query, pages);
}

class Output {
  readonly #terminal: Terminal;
  readonly #path: string | undefined;
  readonly #file: FileHandle | undefined;
  #bytes: number;
  #whole: Saved | undefined;
  /** What the cursor file says; undefined before it is written for the first time. */
  #saved: Saved | undefined;
  #savedMs = 0;

  private constructor(terminal: Terminal, path: string | undefined, file: FileHandle | undefined, bytes: number) {
    this.#terminal = terminal;
    this.#path = path;
    this.#file = file;
    this.#bytes = bytes;
  }

  static async open(
    terminal: Terminal,
    path: string | undefined,
    saved: Saved | undefined,
    force: boolean,
  ): Promise<Output> {
    if (path === undefined) return new Output(terminal, undefined, undefined, 0);
    if (!force && saved === undefined) await refuseExisting(path);
    try {
      // Something to go on with is taken up; anything else of that name is somebody's and stays, unless it may be
      // replaced.
      const file = await open(path, saved ? 'r+' : force ? 'w' : 'wx');
      const { size } = await file.stat();
      if (saved && size < saved.bytes) {
        await file.close();
        throw new PinakesError('FILE_CHANGED', { where: path, detail: 'it is shorter than its cursor file says' });
      }
      if (saved) await file.truncate(saved.bytes);
      return new Output(terminal, path, file, saved?.bytes ?? 0);
    } catch (cause) {
      throw fileError(cause, path, 'writing');
    }
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** At the very beginning, then every second or so many bytes. */
  get isSaveDue(): boolean {
    if (!this.#whole || this.#whole === this.#saved) return false;
    const isLongAgo = performance.now() - this.#savedMs >= SAVE_MS;
    return !this.#saved || isLongAgo || this.#whole.bytes - this.#saved.bytes >= SAVE_BYTES;
  }

  async write({ bytes, cursor }: StreamPiece): Promise<void> {
    if (!this.#file && bytes.length > 0) await this.#terminal.write(Buffer.from(bytes));
    if (this.#file) {
      try {
        for (let at = 0; at < bytes.length; ) {
          const { bytesWritten } = await this.#file.write(bytes, at, bytes.length - at, this.#bytes + at);
          at += bytesWritten;
        }
      } catch (cause) {
        throw fileError(cause, this.#path!, 'writing');
      }
    }
    this.#bytes += bytes.length;
    if (cursor !== undefined) this.#whole = { cursor, bytes: this.#bytes };
  }

  /** Writes down where to go on, once everything before it is safe. */
  async save(path: string): Promise<void> {
    const whole = this.#whole;
    if (!whole || whole === this.#saved) return;
    try {
      await this.#file?.sync();
      const temporary = `${path}.tmp`;
      const handle = await open(temporary, 'w');
      try {
        await handle.writeFile(`${JSON.stringify(whole)}\n`);
        await handle.sync();
      } finally {
        await handle.close();
      }
      await rename(temporary, path);
      this.#saved = whole;
      this.#savedMs = performance.now();
    } catch (cause) {
      throw fileError(cause, path, 'writing');
    }
  }

  async close(): Promise<void> {
    await this.#file?.close();
  }
}

async function readSaved(path: string): Promise<Saved | undefined> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (cause) {
    if ((cause as { code?: string }).code === 'ENOENT') return undefined;
    throw fileError(cause, path);
  }
  try {
    const { cursor, bytes } = JSON.parse(text) as Partial<Saved>;
    if (typeof cursor === 'string' && typeof bytes === 'number') return { cursor, bytes };
  } catch {
    // Told below, like everything that is no cursor file.
  }
  throw new PinakesError('BAD_ARGUMENT', { where: path, detail: 'this is no cursor file' });
}
