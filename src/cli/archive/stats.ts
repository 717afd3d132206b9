/**
 * `pinakes stats`: what the archive holds, the space it takes and saves, and how much content its collections share.
 */
import type { Archive, ArchiveStats, CollectionStats } from '../../archive/index.ts';
import { formatW3cDate } from '../../base/index.ts';
import type { ArchiveCommandOptions } from '../archive-command.ts';
import type { CommandContext } from '../command.ts';
import { EXIT_FINE } from '../outcome.ts';
import { RunningCount } from '../running-count.ts';
import { alignedRows, formatBytes, printable } from '../terminal.ts';
import { stateOf } from './mirror.ts';

export async function archiveStats(
  { terminal, signal, clock }: CommandContext,
  archive: Archive,
  options: ArchiveCommandOptions,
): Promise<number> {
  const count = new RunningCount(terminal, 'stats');
  const stats = await archive.stats({ signal, onProgress: (share) => count.update(`${Math.floor(100 * share)}%`) });
  count.end();
  if (options.json) {
    const collections = stats.collections.map((one) => ({
      ...one,
      firstTime: formatW3cDate(one.firstTime),
      lastTime: formatW3cDate(one.lastTime),
    }));
    const mirrors = (await archive.mirrors.list()).map(({ name, last }) => ({ name, time: last?.time ?? null }));
    await terminal.json({ ...stats, collections, mirrors });
    return EXIT_FINE;
  }
  if (stats.captures === 0) {
    await terminal.line('the archive is empty');
    terminal.say('Add files with `pinakes add`.');
    return EXIT_FINE;
  }
  for (const mirror of await archive.mirrors.list())
    terminal.say(printable(`mirror ${mirror.name}: ${stateOf(mirror, clock())}`));
  for (const line of [...totalsOf(stats), '', ...tableOf(stats.collections)])
    await terminal.line(terminal.expandCommands(line));
  return EXIT_FINE;
}

function totalsOf(stats: ArchiveStats): string[] {
  const { payloadBytes } = stats;
  const rows: [string, string, string][] = [
    ['captures', formatCount(stats.captures), ''],
    ['contents', formatCount(stats.blocks), 'distinct'],
    ['revisits', formatCount(stats.revisits), unresolved(stats)],
    ['payloads', formatBytes(payloadBytes), 'as captured'],
    ['distinct payloads', formatBytes(stats.uniquePayloadBytes), percent(stats.uniquePayloadBytes, payloadBytes)],
    [
      'segments',
      formatBytes(stats.storedBytes),
      `${formatCount(stats.segments)} ${stats.segments === 1 ? 'file' : 'files'}`,
    ],
    [
      'saved by deduplication',
      formatBytes(stats.savedByDeduplicationBytes),
      percent(stats.savedByDeduplicationBytes, payloadBytes),
    ],
    [
      'saved by compression',
      signed(stats.savedByCompressionBytes),
      percent(stats.savedByCompressionBytes, stats.storedPayloadBytes),
    ],
    ['catalog', formatBytes(stats.catalogBytes), ''],
  ];
  if (stats.oddRecords > 0) {
    const undated = stats.undatedRecords;
    const note = undated > 0 ? `${formatCount(undated)} without a usable date, not indexed` : '';
    rows.push(['odd records', formatCount(stats.oddRecords), note]);
  }
  if (stats.deadBytes > 0)
    rows.push(['deleted, not compacted', formatBytes(stats.deadBytes), '`pinakes compact` frees it']);
  return alignedRows(rows, ['left', 'right', 'left']);
}

function unresolved({ unresolvedRevisits }: ArchiveStats): string {
  return unresolvedRevisits === 0 ? '' : `${formatCount(unresolvedRevisits)} without their content`;
}

function tableOf(collections: readonly CollectionStats[]): string[] {
  const head = ['collection', 'from', 'to', 'captures', 'URLs', 'dups within', 'dups of previous', 'URLs persistent'];
  const rows = collections.map((one) => [
    one.collection,
    formatW3cDate(one.firstTime).slice(0, 10),
    formatW3cDate(one.lastTime).slice(0, 10),
    formatCount(one.captures),
    formatCount(one.urls),
    percent(one.duplicates, one.contents),
    one.duplicatesOfPrevious === undefined ? '-' : percent(one.duplicatesOfPrevious, one.contents),
    one.persistentUrls === undefined ? '-' : percent(one.persistentUrls, one.urls),
  ]);
  return alignedRows([head, ...rows], ['left', 'left', 'left', 'right', 'right', 'right', 'right', 'right']);
}

function formatCount(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ' ');
}

function percent(part: number, whole: number): string {
  return whole === 0 ? '-' : `${((100 * part) / whole).toFixed(1)} %`;
}

function signed(bytes: number): string {
  return bytes < 0 ? `-${formatBytes(-bytes)}` : formatBytes(bytes);
}
