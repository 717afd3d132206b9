/** `pinakes warc check`: what is wrong in files, and whether records are what their digests say. */
import type { Finding, FindingLevel } from '../base/index.ts';
import { BlockScanner, findingOf, judgeDigests, verdictFindings, verdictWants, verifyWacz } from '../warc/index.ts';
import type { CommandContext } from './command.ts';
import { walkInputs } from './input-walk.ts';
import { EXIT_FINE, EXIT_FOUND } from './outcome.ts';
import { formatFinding } from './terminal.ts';

export type CheckOptions = { readonly json?: boolean; readonly verbose?: boolean };

export async function warcCheck(
  context: CommandContext,
  paths: readonly string[],
  options: CheckOptions,
): Promise<number> {
  const { terminal, signal } = context;
  const levels: Record<FindingLevel, number> = { error: 0, warning: 0, note: 0 };
  const tally = { files: 0, records: 0, digestsMatched: 0, digestsMismatched: 0, digestsUnjudged: 0 };
  const pending: Finding[] = [];
  const onFinding = (finding: Finding) => {
    levels[finding.level]++;
    pending.push(finding);
  };
  const flush = async () => {
    for (const finding of pending)
      await (options.json ? terminal.json({ kind: 'finding', ...finding }) : terminal.line(formatFinding(finding)));
    pending.length = 0;
  };
  const code = await walkInputs(
    terminal,
    paths,
    { label: 'check', onFinding, signal },
    async ({ file, input }) => {
      tally.files++;
      if (input.name !== file.path && !verified.has(file.path)) {
        verified.add(file.path);
        for (const finding of (await verifyWacz(file.path)).findings) onFinding(finding);
      }
      for await (const record of input.read()) {
        const scanner = new BlockScanner(record.head, verdictWants(record.head));
        for await (const piece of record.body()) scanner.push(piece);
        const facts = scanner.end();
        const verdict = judgeDigests(record.head, facts, record.tail?.complete ?? false);
        for (const finding of verdictFindings(verdict, facts))
          onFinding(findingOf(finding, input.name, record.head.offset));
        tally.records++;
        if (verdict.payload === 'none' || verdict.block === 'none') tally.digestsMismatched++;
        else if (verdict.payload === 'unjudged' && verdict.block === 'unjudged') tally.digestsUnjudged++;
        else tally.digestsMatched++;
        await flush();
        if (options.json)
          await terminal.json({
            kind: 'record',
            file: input.name,
            offset: record.head.offset,
            type: record.head.type,
            uri: record.head.targetUri ?? null,
            block: verdict.block,
            payload: verdict.payload,
          });
        else if (options.verbose)
          await terminal.line(
            `${input.name}:${record.head.offset}: block ${verdict.block}, payload ${verdict.payload}`,
          );
      }
      await flush();
    },
    () => (levels.error > 0 ? EXIT_FOUND : EXIT_FINE),
  );
  await flush();
  if (options.json)
    await terminal.json({
      kind: 'summary',
      ...tally,
      errors: levels.error,
      warnings: levels.warning,
      notes: levels.note,
    });
  else if (tally.files > 0) await terminal.line(summary(tally, levels));
  return code;
}

const verified = new Set<string>();

function summary(
  tally: { files: number; records: number; digestsMatched: number; digestsMismatched: number; digestsUnjudged: number },
  levels: Record<FindingLevel, number>,
): string {
  return (
    `${tally.files} files, ${tally.records} records: ${levels.error} errors, ${levels.warning} warnings, ${levels.note} notes\n` +
    `digests: ${tally.digestsMatched} right, ${tally.digestsMismatched} wrong, ${tally.digestsUnjudged} records without one to judge`
  );
}
