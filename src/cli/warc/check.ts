/** `pinakes warc check`: reports what is wrong in files, and whether records match their digests. */
import type { Finding, FindingLevel } from '../../base/index.ts';
import {
  BlockScanner,
  type DigestVerdict,
  judgeDigests,
  type ReadingRecord,
  type RecordHead,
  verdictFindings,
  verdictScanOptions,
  verifyWacz,
  warcFinding,
} from '../../warc/index.ts';
import type { CommandContext } from '../command.ts';
import { walkInputs } from '../input-walk.ts';
import { EXIT_FINE, EXIT_FOUND } from '../outcome.ts';
import { Progress } from '../progress.ts';
import { counted, formatFinding, printable, type Terminal } from '../terminal.ts';

export type CheckOptions = { readonly json?: boolean; readonly verbose?: boolean };

type Tally = {
  files: number;
  records: number;
  digestsMatched: number;
  digestsMismatched: number;
  digestsUnjudged: number;
};

export async function warcCheck(
  { terminal, signal }: CommandContext,
  paths: readonly string[],
  options: CheckOptions,
): Promise<number> {
  const tally: Tally = { files: 0, records: 0, digestsMatched: 0, digestsMismatched: 0, digestsUnjudged: 0 };
  const findings = new CheckFindings(terminal, options);
  const onFinding = (finding: Finding) => findings.add(finding);
  const packages = new Set<string>();
  const code = await walkInputs(
    terminal,
    paths,
    { label: 'check', onFinding, signal },
    async ({ file, input }) => {
      if (input.name !== file.path && !packages.has(file.path)) {
        packages.add(file.path);
        const progress = new Progress(terminal, 'verify', file.bytes);
        const onBytes = (bytes: number) => progress.update(bytes, file.path);
        for (const finding of (await verifyWacz(file.path, { signal, onBytes })).findings) onFinding(finding);
        progress.end();
      }
      const seen = () => tally.records + findings.count;
      const seenBefore = seen();
      for await (const record of input.read()) {
        const verdict = await judge(record, input.name, onFinding);
        tally.records++;
        count(tally, verdict);
        await findings.print();
        await printRecord(terminal, options, input.name, record.head, verdict);
      }
      if (seen() === seenBefore) onFinding(warcFinding('file-empty', input.name, 0));
      tally.files++;
      await findings.print();
    },
    () => (findings.levels.error > 0 ? EXIT_FOUND : EXIT_FINE),
  );
  await findings.print();
  const { error: errors, warning: warnings, note: notes } = findings.levels;
  if (options.json) await terminal.json({ kind: 'summary', ...tally, errors, warnings, notes });
  else if (tally.files > 0) await terminal.line(summary(tally, findings.levels));
  return code;
}

/** Counts findings at once, and prints them when the record they belong to has been read. */
class CheckFindings {
  readonly levels: Record<FindingLevel, number> = { error: 0, warning: 0, note: 0 };
  readonly #terminal: Terminal;
  readonly #options: CheckOptions;
  readonly #ofPackages = new Set<string>();
  #pending: Finding[] = [];

  constructor(terminal: Terminal, options: CheckOptions) {
    this.#terminal = terminal;
    this.#options = options;
  }

  get count(): number {
    return this.levels.error + this.levels.warning + this.levels.note;
  }

  add(finding: Finding): void {
    // A finding about a package is reported twice: when its files are listed, and when it is verified.
    if (finding.code.startsWith('wacz-')) {
      const text = JSON.stringify(finding);
      if (this.#ofPackages.has(text)) return;
      this.#ofPackages.add(text);
    }
    this.levels[finding.level]++;
    this.#pending.push(finding);
  }

  async print(): Promise<void> {
    const findings = this.#pending;
    this.#pending = [];
    for (const finding of findings) {
      if (this.#options.json) await this.#terminal.json({ kind: 'finding', ...finding });
      else await this.#terminal.line(formatFinding(finding));
    }
  }
}

/** Reads the record to its end and compares it with its digests. */
async function judge(
  record: ReadingRecord,
  file: string,
  onFinding: (finding: Finding) => void,
): Promise<DigestVerdict> {
  const scanner = new BlockScanner(record.head, verdictScanOptions(record.head));
  for await (const piece of record.body()) scanner.push(piece);
  const facts = scanner.end();
  const verdict = judgeDigests(record.head, facts, record.tail?.isComplete ?? false);
  for (const finding of verdictFindings(verdict, facts)) onFinding(warcFinding(finding, file, record.head.offset));
  return verdict;
}

async function printRecord(
  terminal: Terminal,
  options: CheckOptions,
  file: string,
  { offset, type, targetUri }: RecordHead,
  verdict: DigestVerdict,
): Promise<void> {
  if (options.json) await terminal.json({ kind: 'record', file, offset, type, uri: targetUri ?? null, ...verdict });
  else if (options.verbose)
    await terminal.line(printable(`${file}:${offset}: block ${verdict.block}, payload ${verdict.payload}`));
}

/** Counts the record by the worse result of its two digests. */
function count(tally: Tally, { block, payload }: DigestVerdict): void {
  const isJudged = (match: string) => match !== 'unjudged' && match !== 'malformed';
  if (block === 'none' || payload === 'none') tally.digestsMismatched++;
  else if (isJudged(block) || isJudged(payload)) tally.digestsMatched++;
  else tally.digestsUnjudged++;
}

function summary(tally: Tally, levels: Record<FindingLevel, number>): string {
  return (
    `${counted(tally.files, 'file')}, ${counted(tally.records, 'record')}: ` +
    `${counted(levels.error, 'error')}, ${counted(levels.warning, 'warning')}, ${counted(levels.note, 'note')}\n` +
    `digests: ${tally.digestsMatched} right, ${tally.digestsMismatched} wrong, ` +
    `${counted(tally.digestsUnjudged, 'record')} without a digest to compare`
  );
}
