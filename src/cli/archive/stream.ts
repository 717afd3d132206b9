/**
 * `pinakes stream`: writes records of the archive to standard output or a file, as WARC or as JSON lines.
 *
 * With a cursor file, a stream can be stopped at any moment and continued by the same command. An output file is first
 * cut back to the length in the cursor file, which is the end of a whole record.
 */

import { type FileHandle, open, readFile, rename } from 'node:fs/promises';
import { basename } from 'node:path';
import type { Archive, LineExtension, StreamOrder, StreamPiece, StreamQuery } from '../../archive/index.ts';
import {
  badArgument,
  fileError,
  PinakesError,
  refuseExisting,
  refuseMissingParent,
  writingFile,
} from '../../base/index.ts';
import type { ArchiveCommandOptions } from '../archive-command.ts';
import { type CommandContext, resolveTypedPath } from '../command.ts';
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
/** The record types of WARC 1.1, section 6, and the type of the first record of an ARC file. */
const TYPES = [
  ...['warcinfo', 'response', 'resource', 'request', 'metadata', 'revisit', 'conversion', 'continuation'],
  'filedesc',
];
type Format = 'warc' | 'json';
/** The description of each format, and the endings of its file names. */
const FORMATS: Record<Format, { readonly description: string; readonly endings: readonly string[] }> = {
  warc: { description: 'gzipped WARC', endings: ['.warc.gz', '.gz'] },
  json: { description: 'JSON lines', endings: ['.jsonl', '.ndjson', '.json', '.txt'] },
};
const KNOWN_ENDING = /(\.(warc|arc|json|jsonl|ndjson|cdxj?|csv|parquet|wacz|txt|zip|xlsx?))?(\.(gz|zst))?$/;
const SAVE_BYTES = 16 * 1024 * 1024;
const SAVE_MS = 1000;

/** The content of a cursor file: where to continue, and the length of the output up to there. */
type CursorFile = { readonly cursor: string; readonly bytes: number };

export async function archiveStream(
  context: CommandContext,
  archive: Archive,
  options: StreamCommandOptions,
): Promise<number> {
  const { terminal, signal } = context;
  const cursorFile = options.cursorFile === undefined ? undefined : resolveTypedPath(context, options.cursorFile);
  const out = options.out === undefined || options.out === '-' ? undefined : resolveTypedPath(context, options.out);
  const format = formatOf(options);
  if (out !== undefined) refuseOtherEnding(out, format);
  for (const path of [out, cursorFile]) if (path !== undefined) await refuseMissingParent(path);
  const pages = await pagesOf(archive, options, format);
  const order = await orderOf(archive, options.order ?? 'storage');
  const saved = cursorFile === undefined ? undefined : await readCursorFile(cursorFile);
  const damage = new DamageTally(terminal);
  const types = options.type === undefined ? undefined : typesOf(options.type);
  const query: StreamQuery = {
    selection: { ...(await selectionOf(archive, options)), ...(types && { types }) },
    order,
    cursor: options.cursor ?? saved?.cursor,
    onDamage: damage.add,
    signal,
  };
  const continued = options.cursor === undefined ? saved : undefined;
  const output = await StreamOutput.open(terminal, out, continued, options.force === true);
  const count = new RunningCount(terminal, 'stream');
  try {
    const pieces = format === 'warc' ? archive.streamWarc(query) : archive.streamJson(query, pages);
    for await (const piece of pieces) {
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
  if (out !== undefined) terminal.say(`${options.out}: ${formatBytes(output.bytes)} of ${FORMATS[format].description}`);
  if (output.bytes === 0 && damage.count === 0)
    terminal.say('No record is selected, or the stream was already at its end.');
  return damage.count > 0 ? EXIT_FOUND : EXIT_FINE;
}

/** Refuses an unknown record type, which would silently select nothing. */
function typesOf(asked: string): string[] {
  const types = asked.split(',').map((type) => type.trim().toLowerCase());
  const unknown = types.find((type) => !TYPES.includes(type));
  if (unknown === undefined) return types;
  const detail = `the record types are ${TYPES.join(', ')}`;
  throw badArgument(`--type '${unknown}'`, detail);
}

async function orderOf(archive: Archive, asked: string): Promise<StreamOrder> {
  const name = ORDERS.find((one) => one === asked);
  if (!name) throw badArgument(`--order ${asked}`, ORDERS.join(', '));
  if (name !== 'inlinks' && name !== 'rank') return name;
  // Loaded only here: other orders do not need the search index.
  const { RankingStore } = await import('../../search/index.ts');
  return new RankingStore(archive).ranking(name);
}

function formatOf(options: StreamCommandOptions): Format {
  const format = options.json ? 'json' : (options.format ?? 'warc');
  if (format === 'warc' || format === 'json') return format;
  // The name of the format in the HTTP interface.
  if (format === 'jsonl') return 'json';
  const detail = 'warc or jsonl; `pinakes export FILE.parquet` writes a table';
  throw badArgument(`--format ${format}`, detail);
}

/** Refuses a file name with the ending of another format. An unknown ending is accepted. */
function refuseOtherEnding(path: string, format: Format): void {
  const { endings, description } = FORMATS[format];
  const [ending] = KNOWN_ENDING.exec(basename(path).toLowerCase())!;
  if (ending === '' || endings.includes(ending)) return;
  const detail = `--format ${format} writes ${description}; name the file with the ending ${endings.join(' or ')}`;
  throw badArgument(path, detail);
}

/** Adds facts about pages to the lines, for --text and --links. */
async function pagesOf(
  archive: Archive,
  { text = false, links = false }: StreamCommandOptions,
  format: Format,
): Promise<LineExtension | undefined> {
  if (!text && !links) return undefined;
  const where = text ? '--text' : '--links';
  if (format !== 'json') throw badArgument(where, 'only JSON lines can have it; add --json');
  // Loaded only here: other streams do not read pages.
  const { pageExtension } = await import('../../search/index.ts');
  return pageExtension({ text, links }, archive.documentMemory);
}

class StreamOutput {
  readonly #terminal: Terminal;
  readonly #path: string | undefined;
  readonly #file: FileHandle | undefined;
  #bytes: number;
  /** The end of the last whole record that was written. */
  #recordEnd: CursorFile | undefined;
  /** The content of the cursor file; undefined before the first save. */
  #saved: CursorFile | undefined;
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
    saved: CursorFile | undefined,
    force: boolean,
  ): Promise<StreamOutput> {
    if (path === undefined) return new StreamOutput(terminal, undefined, undefined, 0);
    if (!force && saved === undefined) await refuseExisting(path);
    return writingFile(path, async () => {
      // With a cursor file the output is continued. Any other file of this name is kept, unless --force is given.
      const file = await open(path, saved ? 'r+' : force ? 'w' : 'wx');
      const { size } = await file.stat();
      if (saved && size < saved.bytes) {
        await file.close();
        throw new PinakesError('FILE_CHANGED', {
          where: path,
          detail: 'the file is shorter than its cursor file says',
        });
      }
      if (saved) await file.truncate(saved.bytes);
      return new StreamOutput(terminal, path, file, saved?.bytes ?? 0);
    });
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** True after the first record, and then every SAVE_MS or SAVE_BYTES. */
  get isSaveDue(): boolean {
    if (!this.#recordEnd || this.#recordEnd === this.#saved) return false;
    const isLongAgo = performance.now() - this.#savedMs >= SAVE_MS;
    return !this.#saved || isLongAgo || this.#recordEnd.bytes - this.#saved.bytes >= SAVE_BYTES;
  }

  async write({ bytes, cursor }: StreamPiece): Promise<void> {
    if (!this.#file && bytes.length > 0) await this.#terminal.write(Buffer.from(bytes));
    const file = this.#file;
    if (file) {
      await writingFile(this.#path!, async () => {
        for (let at = 0; at < bytes.length; ) {
          const { bytesWritten } = await file.write(bytes, at, bytes.length - at, this.#bytes + at);
          at += bytesWritten;
        }
      });
    }
    this.#bytes += bytes.length;
    if (cursor !== undefined) this.#recordEnd = { cursor, bytes: this.#bytes };
  }

  /** Writes the cursor file, after everything before the cursor is durable. */
  async save(path: string): Promise<void> {
    const recordEnd = this.#recordEnd;
    if (!recordEnd || recordEnd === this.#saved) return;
    await writingFile(path, async () => {
      await this.#file?.sync();
      const temporary = `${path}.tmp`;
      const handle = await open(temporary, 'w');
      try {
        await handle.writeFile(`${JSON.stringify(recordEnd)}\n`);
        await handle.sync();
      } finally {
        await handle.close();
      }
      await rename(temporary, path);
      this.#saved = recordEnd;
      this.#savedMs = performance.now();
    });
  }

  async close(): Promise<void> {
    await this.#file?.close();
  }
}

async function readCursorFile(path: string): Promise<CursorFile | undefined> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (cause) {
    if ((cause as { code?: string }).code === 'ENOENT') return undefined;
    throw fileError(cause, path);
  }
  try {
    const { cursor, bytes } = JSON.parse(text) as Partial<CursorFile>;
    if (typeof cursor === 'string' && typeof bytes === 'number') return { cursor, bytes };
  } catch {
    // Reported below, like every other text that is not a cursor file.
  }
  throw badArgument(path, 'this is not a cursor file');
}
