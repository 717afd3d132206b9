/** `pinakes node ls`: each volume with its room and with what it does at present. */
import type { Archive, NodeStatus } from '../../archive/index.ts';
import { formatW3cDate } from '../../base/index.ts';
import type { ArchiveCommandOptions } from '../archive-command.ts';
import type { CommandContext } from '../command.ts';
import { EXIT_FINE } from '../outcome.ts';
import { alignedRows, formatBytes, printable } from '../terminal.ts';

const HEADINGS = ['name', 'state', 'capacity', 'free', 'stored', 'dead', 'under way', 'read/min', 'written/min'];

export async function nodeLs(
  { terminal }: CommandContext,
  archive: Archive,
  options: ArchiveCommandOptions,
): Promise<number> {
  const nodes = await archive.nodes();
  if (options.json) {
    for (const node of nodes) await terminal.json(nodeJson(node));
    return EXIT_FINE;
  }
  const rows = [HEADINGS, ...nodes.map(rowOf)];
  const sides = HEADINGS.map(() => 'left' as const);
  for (const line of alignedRows(rows, sides)) await terminal.line(printable(line));
  for (const { name, failure, lastError } of nodes) {
    if (failure) terminal.say(`${printable(failure.message)}\n  ${failure.advice}`);
    else if (lastError)
      terminal.say(printable(`last error of ${name}, at ${formatW3cDate(lastError.time)}: ${lastError.message}`));
  }
  return EXIT_FINE;
}

function rowOf({ name, kind, state, totalBytes, freeBytes, bytes, deadBytes, pending, lastMinute }: NodeStatus) {
  const room = (size: number | undefined) => (size === undefined || kind === 'linked' ? '-' : formatBytes(size));
  const underWay = Object.entries(pending).flatMap(([what, count]) => (count > 0 ? [`${count} ${what}`] : []));
  return [
    ...[name, state, room(totalBytes), room(freeBytes), formatBytes(bytes), formatBytes(deadBytes)],
    ...[underWay.join(', ') || '-', formatBytes(lastMinute.readBytes), formatBytes(lastMinute.writtenBytes)],
  ];
}

function nodeJson(node: NodeStatus): Record<string, unknown> {
  const { name, kind, path, endpoint, writable, state, segments, bytes, deadBytes, freeBytes, totalBytes } = node;
  const { pending, lastMinute, lastError, failure, bucket } = node;
  return {
    ...{ name, kind, path, ...(endpoint !== undefined && { endpoint }), writable, state },
    ...{ segments, bytes, deadBytes, freeBytes: freeBytes ?? null, totalBytes: totalBytes ?? null },
    ...{ pending, lastMinute, bucket: bucket ?? null },
    lastError: lastError ? { ...lastError, time: formatW3cDate(lastError.time) } : null,
    failure: failure?.message ?? null,
  };
}
