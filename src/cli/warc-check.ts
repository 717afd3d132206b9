/** `pinakes warc check`: what is wrong in files, and whether records are what their digests say. */
import type { Finding, FindingLevel } from '../base/index.ts';
import {
  BlockScanner,
  type DigestVerdict,
  findingOf,
  judgeDigests,
  type RecordHead,
  verdictFindings,
  verdictWants,
  verifyWacz,
} from '../warc/index.ts';
import type { CommandContext } from './command.ts';
import { walkInputs } from './input-walk.ts';
import { EXIT_FINE, EXIT_FOUND } from './outcome.ts';
import { Progress } from './progress.ts';
import { counted, formatFinding, printable } from './terminal.ts';

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
  const levels: Record<FindingLevel, number> = { error: 0, warning: 0, note: 0 };
  const tally: Tally = { files: 0, records: 0, digestsMatched: 0, digestsMismatched: 0, digestsUnjudged: 0 };
  const packages = new Set<string>();
  let pending: Finding[] = [];
  const toldOfPackages = new Set<string>();
  const onFinding = (finding: Finding) => {
    // The same is met when the files of a package are looked for, and when it is verified.
    if (finding.code.startsWith('wacz-')) {
      const told = JSON.stringify(finding);
      if (toldOfPackages.has(told)) return;
      toldOfPackages.add(told);
    }
    levels[finding.level]++;
    pending.push(finding);
  };
  const flush = async () => {
    const findings = pending;
    pending = [];
    for (const finding of findings)
      await (options.json ? terminal.json({ kind: 'finding', ...finding }) : terminal.line(formatFinding(finding)));
  };
  const tellRecord = async (file: string, { offset, type, targetUri }: RecordHead, verdict: DigestVerdict) => {
    if (options.json) await terminal.json({ kind: 'record', file, offset, type, uri: targetUri ?? null, ...verdict });
    else if (options.verbose)
      await terminal.line(printable(`${file}:${offset}: block ${verdict.block}, payload ${verdict.payload}`));
  };
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
      const seen = () => tally.records + levels.error + levels.warning + levels.note;
      const seenBefore = seen();
      for await (const record of input.read()) {
        const scanner = new BlockScanner(record.head, verdictWants(record.head));
        for await (const piece of record.body()) scanner.push(piece);
        const facts = scanner.end();
        const verdict = judgeDigests(record.head, facts, record.tail?.complete ?? false);
        for (const finding of verdictFindings(verdict, facts))
          onFinding(findingOf(finding, input.name, record.head.offset));
        tally.records++;
        count(tally, verdict);
        await flush();
        await tellRecord(input.name, record.head, verdict);
      }
      if (seen() === seenBefore) onFinding(findingOf('file-empty', input.name, 0));
      tally.files++;
      await flush();
    },
    () => (levels.error > 0 ? EXIT_FOUND : EXIT_FINE),
  );
  await flush();
  const { error: errors, warning: warnings, note: notes } = levels;
  if (options.json) await terminal.json({ kind: 'summary', ...tally, errors, warnings, notes });
  else if (tally.files > 0) await terminal.line(summary(tally, levels));
  return code;
}

/** A record counts by the worse of its two digests. */
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
    `${counted(tally.digestsUnjudged, 'record')} without one to judge`
  );
}
