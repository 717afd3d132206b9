/**
 * Visits the WARC and ARC files under the paths of a command, one after another, and shows progress. A file that fails
 * does not stop the others (I10). A file without any record is refused, and its findings are dropped as noise.
 */
import { type Finding, PinakesError } from '../base/index.ts';
import { type InputFile, inputFiles, notArchiveFile, type WarcInput, warcInputs } from '../warc/index.ts';
import { EXIT_FINE, EXIT_REFUSED, printFailures } from './outcome.ts';
import { Progress } from './progress.ts';
import type { Terminal } from './terminal.ts';

export type Visit = {
  readonly file: InputFile;
  /** Reading this input reports progress and findings. */
  readonly input: WarcInput;
};

export type WalkOptions = {
  readonly label: string;
  readonly onFinding: (finding: Finding) => void;
  readonly signal: AbortSignal;
};

/** Returns the exit code: EXIT_REFUSED when a path or file could not be read, else the result of `found`. */
export async function walkInputs(
  terminal: Terminal,
  paths: readonly string[],
  options: WalkOptions,
  visit: (visit: Visit) => Promise<void>,
  found: () => number = () => EXIT_FINE,
): Promise<number> {
  const { files, failures, bytes } = await inputFiles(paths);
  const progress = new Progress(terminal, options.label, bytes);
  let doneBytes = 0;
  for (const file of files) {
    let inputs = 0;
    try {
      for await (const input of warcInputs(file.path, options.onFinding)) {
        inputs++;
        const watched = new WatchedInput(input, options, (offset) => progress.update(doneBytes + offset, file.path));
        await visit({ file, input: watched });
      }
      if (inputs === 0)
        throw new PinakesError('NOT_WACZ', { where: file.path, detail: 'the package has no WARC files' });
    } catch (error) {
      if (!(error instanceof PinakesError)) throw error;
      failures.push(error);
    }
    doneBytes += file.bytes;
  }
  progress.end();
  return failures.length > 0 ? printFailures(terminal, failures, EXIT_REFUSED) : found();
}

/**
 * An input that counts its records. It holds findings back until the first record shows that this is a WARC or ARC
 * file.
 */
class WatchedInput implements WarcInput {
  readonly name: string;
  readonly filename: string;
  readonly size: number;
  readonly slice: WarcInput['slice'];
  readonly #input: WarcInput;
  readonly #options: WalkOptions;
  readonly #onOffset: (offset: number) => void;
  #records = 0;
  #held: Finding[] = [];

  constructor(input: WarcInput, options: WalkOptions, onOffset: (offset: number) => void) {
    this.name = input.name;
    this.filename = input.filename;
    this.size = input.size;
    this.slice = input.slice;
    this.#input = input;
    this.#options = options;
    this.#onOffset = onOffset;
  }

  async *read(...[options = {}]: Parameters<WarcInput['read']>): ReturnType<WarcInput['read']> {
    const { signal } = this.#options;
    for await (const record of this.#input.read({ ...options, signal, onFinding: (finding) => this.#pass(finding) })) {
      if (this.#records++ === 0) this.#release();
      this.#onOffset(record.head.offset);
      yield record;
    }
    this.#end();
  }

  #end(): void {
    const isForeign = this.#records === 0 && this.#held.some((finding) => finding.code === 'garbage-skipped');
    if (isForeign) throw notArchiveFile(this.name);
    this.#release();
  }

  #pass(finding: Finding): void {
    if (this.#records > 0) this.#options.onFinding(finding);
    else this.#held.push(finding);
  }

  #release(): void {
    for (const finding of this.#held) this.#options.onFinding(finding);
    this.#held = [];
  }
}
