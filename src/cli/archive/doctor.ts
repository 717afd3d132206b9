/**
 * `pinakes doctor`: shows which process has the archive open, its leases and open segments, what waits to be removed
 * and why, and the room that is left. Changes nothing, heals nothing, and works beside a server.
 */
import {
  type Advice,
  adviceOn,
  type CatalogState,
  type Examination,
  examineClosed,
  type OpenSegmentState,
  type PendingRemoval,
  type VolumeRoom,
} from '../../archive/index.ts';
import { formatW3cDate } from '../../base/index.ts';
import type { ArchiveCommandOptions } from '../archive-command.ts';
import type { CommandContext } from '../command.ts';
import { EXIT_FINE, EXIT_FOUND } from '../outcome.ts';
import { runInServer } from '../remote.ts';
import { alignedRows, counted, formatBytes, printable, type Terminal } from '../terminal.ts';
import { stateOf } from './mirror.ts';

const PENDING_SHOWN_MAX = 20;

export async function archiveDoctor(context: CommandContext, options: ArchiveCommandOptions): Promise<number> {
  const { terminal, clock, archive } = context;
  if (!archive) {
    const code = await runInServer(context, options.archive);
    if (code !== undefined) return code;
  }
  const examination = archive ? await archive.examine() : await examineClosed(options.archive, clock());
  const advice = adviceOn(examination);
  if (options.json) await terminal.json(jsonOf(examination, advice));
  else await print(terminal, examination, advice);
  return advice.some(({ level }) => level === 'problem') ? EXIT_FOUND : EXIT_FINE;
}

async function print(terminal: Terminal, examination: Examination, advice: readonly Advice[]): Promise<void> {
  const { catalog, volumes, mirrors, time } = examination;
  const rows = [['open in', ownerText(examination)], ...(catalog ? catalogRows(catalog, examination.isShared) : [])];
  for (const volume of volumes) rows.push(['volume', `${volume.name}: ${roomText(volume)}`]);
  for (const mirror of mirrors) rows.push(['mirror', `${mirror.name}: ${stateOf(mirror, time)}`]);
  rows.push(['reserve', reserveText(examination.reserve)]);
  for (const line of alignedRows(rows, ['left', 'left'])) await terminal.line(printable(line));
  for (const { level, message, advice: todo } of advice) {
    await terminal.line(`\n${level}: ${terminal.expandCommands(printable(message))}`);
    if (todo !== '') await terminal.line(`  ${terminal.expandCommands(todo)}`);
  }
  if (advice.length === 0) await terminal.line('\nAll is well, and nothing waits to be healed or removed.');
  else if (advice.every(({ level }) => level === 'hint')) await terminal.line('\nNothing is wrong.');
}

function ownerText({ owner, isShared }: Examination): string {
  if (isShared) return 'a cluster: see the leases';
  if (!owner) return 'no process';
  const { pid, host, purpose, since, server } = owner;
  return `process ${pid} on ${host}, ${purpose}, since ${since}${server ? `, ${server.url}` : ''}`;
}

function catalogRows(catalog: CatalogState, isShared: boolean): string[][] {
  const { incarnation, isAdopting, leases, openSegments, pending, surplusRecords } = catalog;
  const rows = [['incarnation', `${incarnation}${isAdopting ? ', adopting what is in the volumes' : ''}`]];
  // Of the leases that have ended, only those matter that left something. JSON has all of them.
  const shown = leases.filter(({ name, isLiving }) => isLiving || openSegments.some(({ lease }) => lease === name));
  if (shown.length === 0) rows.push(['leases', isShared ? 'none' : 'none: one process at a time owns the archive']);
  for (const lease of shown) rows.push(['lease', leaseText(lease)]);
  if (openSegments.length === 0) rows.push(['open segments', 'none']);
  for (const segment of openSegments) rows.push(['open segment', segmentText(segment)]);
  for (const one of pending.slice(0, PENDING_SHOWN_MAX)) rows.push(['to be removed', pendingText(one)]);
  if (pending.length > PENDING_SHOWN_MAX)
    rows.push(['', `${pending.length - PENDING_SHOWN_MAX} more, which --json lists`]);
  if (surplusRecords > 0) rows.push(['surplus', counted(surplusRecords, 'record')]);
  return rows;
}

function leaseText({ name, holder, epoch, expires, isLiving }: CatalogState['leases'][number]): string {
  const until = expires === undefined ? '' : ` ${isLiving ? 'until' : 'since'} ${formatW3cDate(expires)}`;
  return `${name}: ${isLiving ? 'living' : 'ended'}${until}, epoch ${epoch}, ${holder}`;
}

function segmentText({ name, volume, bytes, records, state, lease, uncommittedBytes }: OpenSegmentState): string {
  const parts = [`${formatBytes(bytes)}, ${counted(records, 'record')}`];
  if (uncommittedBytes)
    parts.push(`${formatBytes(Math.abs(uncommittedBytes))} ${uncommittedBytes > 0 ? 'not committed' : 'missing'}`);
  if (state === 'sealing') parts.push('being sealed');
  if (lease !== undefined) parts.push(`written by ${lease}`);
  return `${volume}: ${name}, ${parts.join(', ')}`;
}

function pendingText({ kind, what, bytes, waitsFor, detail }: PendingRemoval): string {
  const size = bytes === undefined ? '' : `, ${formatBytes(bytes)}`;
  return `${kind}: ${what}${size}, waiting for ${waitsFor}${detail === what ? '' : ` (${detail})`}`;
}

function roomText({ freeBytes, totalBytes, failure, writable }: VolumeRoom): string {
  if (failure) return 'missing';
  const room =
    freeBytes === undefined || totalBytes === undefined
      ? 'free space unknown'
      : `${formatBytes(freeBytes)} free of ${formatBytes(totalBytes)}`;
  return writable ? room : `${room}, read-only`;
}

function reserveText({ bytes, freeBytes }: Examination['reserve']): string {
  const size = bytes > 0 ? formatBytes(bytes) : 'none yet';
  return freeBytes === undefined ? size : `${size}, ${formatBytes(freeBytes)} free beside it`;
}

function jsonOf(
  { time, owner, refusal, volumes, catalog, ...rest }: Examination,
  advice: readonly Advice[],
): Record<string, unknown> {
  const leases = catalog?.leases.map((lease) => ({
    ...lease,
    expires: lease.expires === undefined ? null : formatW3cDate(lease.expires),
  }));
  return {
    isWell: advice.every(({ level }) => level === 'hint'),
    time: formatW3cDate(time),
    owner: owner ?? null,
    catalog: catalog ? { ...catalog, leases } : null,
    refusal: refusal ? { code: refusal.code, message: refusal.message, advice: refusal.advice } : null,
    volumes: volumes.map(({ failure, ...volume }) => ({ ...volume, failure: failure?.message ?? null })),
    ...rest,
    advice,
  };
}
