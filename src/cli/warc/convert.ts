/**
 * `pinakes warc convert`: writes files in another compression, or ARC files as WARC files. Sources are only read. A
 * target must not be one of the sources, or a file that this run has already written, even with `--force`.
 */
import { rmdir } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import {
  badArgument,
  type Finding,
  makeDirectories,
  PinakesError,
  refuseFileForDirectory,
  writingFile,
} from '../../base/index.ts';
import {
  type Coding,
  type ConvertReport,
  convertFile,
  dictionaryFor,
  type InputFile,
  inputFiles,
} from '../../warc/index.ts';
import type { CommandContext } from '../command.ts';
import { FindingTally } from '../finding-tally.ts';
import { type Visit, walkInputs } from '../input-walk.ts';
import { EXIT_FINE, EXIT_FOUND } from '../outcome.ts';
import { counted, formatBytes, formatFinding, OutputFailed, printable, printableJson } from '../terminal.ts';

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
const PACKAGE_SUFFIX = /\.(wacz|zip)$/i;

export async function warcConvert(
  context: CommandContext,
  paths: readonly string[],
  options: ConvertCommandOptions,
): Promise<number> {
  const { terminal, signal, clock, newId, software } = context;
  const coding = Object.hasOwn(CODINGS, options.to) ? CODINGS[options.to]! : undefined;
  if (!coding) throw badArgument(`--to ${options.to}`, Object.keys(CODINGS).join(', '));
  const level = levelOf(options.level, coding);
  await refuseFileForDirectory(options.out);
  const { files } = await inputFiles(paths);
  const dictionaries = new Dictionaries(options.dictionary, coding, level, files);
  const targets = new Targets(options, files);
  const oddities = new FindingTally(terminal);
  const onFinding = (finding: Finding) => {
    // A change in the output is reported each time, because `warc check` on the source does not find it.
    if (finding.code === 'content-length-rewritten') terminal.say(formatFinding(finding));
    else oddities.add(finding);
  };
  const convert = async ({ file, input }: Visit) => {
    const target = await targets.of({ file, input });
    const dictionary = await dictionaries.of({ file, input });
    const force = options.force === true;
    const how = { coding, level, dictionary, clock, newId, software, force, signal, onFinding };
    const report = await convertFile(input, target, how).finally(() => targets.removeEmptyDirectories());
    const line = options.json
      ? printableJson({
          file: input.name,
          target: report.records > 0 ? target : null,
          ...report,
          bytesBefore: input.size,
        })
      : printable(reportLine(input.name, target, report, input.size));
    // When the reader of the report is gone, the conversion continues.
    await terminal.line(line).catch((error) => {
      if (!(error instanceof OutputFailed)) throw error;
    });
  };
  const found = () => (oddities.errors > 0 ? EXIT_FOUND : EXIT_FINE);
  const code = await walkInputs(terminal, paths, { label: 'convert', onFinding, signal }, convert, found);
  oddities.end();
  if (oddities.errors > 0)
    terminal.say(
      `${counted(oddities.errors, 'error')} in the sources: what could be read was converted. Keep the sources.`,
    );
  return code;
}

function reportLine(source: string, target: string, report: ConvertReport, bytesBefore: number): string {
  if (report.records === 0) return `${source}: no records, nothing written`;
  const sizes = `${formatBytes(bytesBefore)} -> ${formatBytes(report.bytes)}`;
  return `${target}: ${counted(report.records, 'record')}, ${sizes}, read back and compared`;
}

function levelOf(text: string | undefined, coding: Coding): number | undefined {
  if (text === undefined) return coding === 'zstd' ? 9 : undefined;
  const level = Number(text);
  const most = coding === 'zstd' ? 19 : 9;
  if (!Number.isInteger(level) || level < 1 || level > most) {
    throw badArgument(`--level ${text}`, `a number from 1 to ${most} is expected`);
  }
  return level;
}

/**
 * Chooses the paths of new files: beside their sources, or below `--out`, with the same path that the source has below
 * the directory on the command line.
 */
class Targets {
  readonly #options: ConvertCommandOptions;
  readonly #sources: ReadonlySet<string>;
  readonly #taken = new Map<string, string>();
  /** Directories made for the last target, innermost first. */
  #made: string[] = [];

  constructor(options: ConvertCommandOptions, files: readonly InputFile[]) {
    this.#options = options;
    this.#sources = new Set(files.map((file) => resolve(file.path)));
  }

  /** Chooses the target of a source and creates its directory. */
  async of({ file, input }: Visit): Promise<string> {
    const { out, to } = this.#options;
    const directory = out === undefined ? dirname(file.path) : join(out, dirname(file.relative));
    const target = join(directory, `${stemOf(file, input)}.${to}`);
    const refuse = (detail: string) => new PinakesError('FILE_EXISTS', { where: target, detail });
    if (resolve(target) === resolve(file.path))
      throw refuse('the new file would replace its own source; add --out DIR');
    if (this.#sources.has(resolve(target)))
      throw refuse('this file is itself one of the files to convert; add --out DIR');
    const other = this.#taken.get(target);
    if (other !== undefined)
      throw refuse(`${other} was just converted to this file; convert ${input.name} with another --out`);
    this.#taken.set(target, input.name);
    await writingFile(directory, async () => {
      const outermost = out === undefined ? undefined : await makeDirectories(directory);
      this.#made = outermost === undefined ? [] : directoriesBetween(directory, outermost);
    });
    return target;
  }

  /** Removes the directories created for the last target if its file was not written. */
  async removeEmptyDirectories(): Promise<void> {
    for (const directory of this.#made) {
      const isKept = await rmdir(directory).then(
        () => false,
        () => true,
      );
      if (isKept) return;
    }
  }
}

/** The directories from `inner` up to `outer`, innermost first. */
function directoriesBetween(inner: string, outer: string): string[] {
  const found = [resolve(inner)];
  while (found.at(-1) !== resolve(outer)) found.push(dirname(found.at(-1)!));
  return found;
}

/**
 * The file name without its suffix. For a file in a package, the names of the packages come first, because many
 * packages contain a `data.warc.gz`.
 */
function stemOf(file: InputFile, input: Visit['input']): string {
  const stem = input.filename.replace(SUFFIX, '');
  if (input.name === file.path) return stem;
  const inner = input.name
    .slice(file.path.length + 1)
    .split('!')
    .slice(0, -1);
  const packages = [file.path, ...inner].map((path) => basename(path).replace(PACKAGE_SUFFIX, ''));
  return [...packages, stem].join('-');
}

/** Makes the dictionaries: none, one per file, or one for all files of the run. */
class Dictionaries {
  readonly #kind: string;
  readonly #level: number | undefined;
  readonly #files: readonly InputFile[];
  #shared: Promise<Uint8Array | undefined> | undefined;

  constructor(kind: string, coding: Coding, level: number | undefined, files: readonly InputFile[]) {
    this.#level = level;
    if (!['none', 'file', 'site'].includes(kind)) {
      throw badArgument(`--dictionary ${kind}`, 'none, file or site');
    }
    this.#kind = coding === 'zstd' ? kind : 'none';
    // Files in packages are not sampled, because they do not have a path to read from.
    this.#files = files.filter((file) => !PACKAGE_SUFFIX.test(file.path));
  }

  async of({ file, input }: Visit): Promise<Uint8Array | undefined> {
    if (this.#kind === 'none') return undefined;
    if (this.#kind === 'file') return input.name === file.path ? dictionaryFor([file], this.#level) : undefined;
    this.#shared ??= dictionaryFor(this.#files, this.#level);
    return this.#shared;
  }
}
