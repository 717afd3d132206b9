/** `pinakes snapshot create|ls|rm`: named states of the archive. */
import type { Archive, NamedSnapshot } from '../../archive/index.ts';
import { formatW3cDate } from '../../base/index.ts';
import type { ArchiveCommandOptions } from '../archive-command.ts';
import type { CommandContext } from '../command.ts';
import { EXIT_FINE } from '../outcome.ts';
import { counted, formatBytes } from '../terminal.ts';

export async function snapshotCreate(
  { terminal }: CommandContext,
  archive: Archive,
  name: string,
  options: ArchiveCommandOptions,
): Promise<number> {
  const snapshot = summary(await archive.createSnapshot(name));
  if (options.json) await terminal.json(snapshot);
  else
    await terminal.line(`snapshot ${name}: ${counted(snapshot.segments, 'segment')} of ${formatBytes(snapshot.bytes)}`);
  return EXIT_FINE;
}

export async function snapshotLs(
  { terminal }: CommandContext,
  archive: Archive,
  options: ArchiveCommandOptions,
): Promise<number> {
  const snapshots = archive.listSnapshots().map(summary);
  if (snapshots.length === 0 && !options.json)
    terminal.say('There are no snapshots yet; `pinakes snapshot create NAME` creates one.');
  for (const snapshot of snapshots) {
    if (options.json) await terminal.json(snapshot);
    else
      await terminal.line(
        `${snapshot.name}  ${snapshot.time}  ${counted(snapshot.segments, 'segment')}  ${formatBytes(snapshot.bytes)}`,
      );
  }
  return EXIT_FINE;
}

export async function snapshotRm(
  { terminal }: CommandContext,
  archive: Archive,
  name: string,
  options: ArchiveCommandOptions,
): Promise<number> {
  await archive.removeSnapshot(name);
  if (options.json) await terminal.json({ name, isRemoved: true });
  else {
    await terminal.line(`removed snapshot ${name}`);
    terminal.say('`pinakes compact` may now remove what only this snapshot kept.');
  }
  return EXIT_FINE;
}

function summary({ name, time, segments }: NamedSnapshot) {
  const bytes = segments.reduce((sum, [, , length]) => sum + length, 0);
  return { name, time: formatW3cDate(time), segments: segments.length, bytes };
}
