/** `pinakes warc convert`: files in another compression, or ARC files as WARC files. */
import { mkdir, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { type Finding, PinakesError } from '../base/index.ts';
import { type Coding, convertFile, dictionaryFor } from '../warc/index.ts';
import type { CommandContext } from './command.ts';
import { inputFiles } from './input-files.ts';
import { type Visit, walkInputs } from './input-walk.ts';
import { formatBytes, formatFinding } from './terminal.ts';

export type ConvertCommandOptions = {
  readonly to: string;
  readonly dictionary: string;
  readonly out?: string;
  readonly level?: string;
  readonly force?: boolean;
  readonly json?: boolean;
};

const CODINGS: Record<string, Coding> = { warc: 'none', 'warc.gz': 'gzip', 'warc.zst': 'zstd' };
const SUFFIX = /\.(warc|arc)(\.gz|\.zst)?(\.open)?$/i;

export async function warcConvert(
  context: CommandContext,
  paths: readonly string[],
  options: ConvertCommandOptions,
): Promise<number> {
  const { terminal, signal } = context;
  const coding = CODINGS[options.to];
  if (!coding)
    throw new PinakesError('BAD_ARGUMENT', { where: `--to ${options.to}`, detail: Object.keys(CODINGS).join(', ') });
  const level = levelOf(options.level, coding);
  const dictionaries = new Dictionaries(options.dictionary, coding, level, paths);
  if (options.out !== undefined) await mkdir(options.out, { recursive: true });
  const onFinding = (finding: Finding) => terminal.say(formatFinding(finding));
  return walkInputs(terminal, paths, { label: 'convert', onFinding, signal }, async ({ file, input }) => {
    const target = targetOf(file.path, input.filename, options);
    if (resolve(target) === resolve(file.path)) {
      throw new PinakesError('FILE_EXISTS', {
        where: target,
        detail: 'it would replace its own source; give --out DIR',
      });
    }
    const dictionary = await dictionaries.of({ file, input });
    const { clock, newId, software } = context;
    const force = options.force === true;
    const report = await convertFile(input, target, {
      coding,
      level,
      dictionary,
      clock,
      newId,
      software,
      force,
      signal,
      onFinding,
    });
    if (report.records === 0) return;
    const bytesBefore = file.bytes;
    if (options.json) await terminal.json({ file: input.name, target, ...report, bytesBefore });
    else
      await terminal.line(
        `${target}: ${report.records} records, ${formatBytes(bytesBefore)} -> ${formatBytes(report.bytes)}, read back and compared`,
      );
  });
}

function levelOf(text: string | undefined, coding: Coding): number | undefined {
  if (text === undefined) return coding === 'zstd' ? 9 : undefined;
  const level = Number(text);
  const most = coding === 'zstd' ? 19 : 9;
  if (!Number.isInteger(level) || level < 1 || level > most) {
    throw new PinakesError('BAD_ARGUMENT', { where: `--level ${text}`, detail: `1 to ${most}` });
  }
  return level;
}

function targetOf(path: string, filename: string, options: ConvertCommandOptions): string {
  const stem = basename(filename).replace(SUFFIX, '');
  return join(options.out ?? dirname(path), `${stem}.${options.to}`);
}

/** Dictionaries as asked for: none, one a file, or one for all files of the run. */
class Dictionaries {
  readonly #kind: string;
  readonly #level: number | undefined;
  readonly #paths: readonly string[];
  #shared: Promise<Uint8Array | undefined> | undefined;

  constructor(kind: string, coding: Coding, level: number | undefined, paths: readonly string[]) {
    this.#level = level;
    if (!['none', 'file', 'site'].includes(kind)) {
      throw new PinakesError('BAD_ARGUMENT', { where: `--dictionary ${kind}`, detail: 'none, file or site' });
    }
    this.#kind = coding === 'zstd' ? kind : 'none';
    this.#paths = paths;
  }

  async of({ file, input }: Visit): Promise<Uint8Array | undefined> {
    // A file inside a package is not sampled: it has no path of its own to read from.
    if (this.#kind === 'none' || input.name !== file.path) return undefined;
    if (this.#kind === 'file')
      return dictionaryFor([{ path: file.path, bytes: (await stat(file.path)).size }], this.#level);
    this.#shared ??= inputFiles(this.#paths).then(({ files }) => dictionaryFor(files, this.#level));
    return this.#shared;
  }
}
