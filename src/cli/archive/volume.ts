/**
 * `pinakes volume`: lists and adds volumes, makes a volume read-only or writable, moves all segments of a volume to
 * another volume, and removes an empty volume.
 */
import { stat } from 'node:fs/promises';
import type { Archive, VolumeStatus } from '../../archive/index.ts';
import { badArgument, PinakesError } from '../../base/index.ts';
import type { BucketTraits } from '../../volume/index.ts';
import { type ArchiveCommandOptions, segmentProgress } from '../archive-command.ts';
import { type CommandContext, resolveTypedPath } from '../command.ts';
import { EXIT_FINE, printFailures } from '../outcome.ts';
import { Progress } from '../progress.ts';
import { alignedRows, counted, formatBytes, printable, type Terminal } from '../terminal.ts';

/** A smaller difference between two clocks is not mentioned. */
const CLOCK_SKEW_MS = 60_000;

export async function volumeLs(
  { terminal }: CommandContext,
  archive: Archive,
  options: ArchiveCommandOptions,
): Promise<number> {
  const volumes = await archive.listVolumes();
  if (options.json) for (const volume of volumes) await terminal.json(volumeJson(volume));
  else {
    const rows = [
      ['name', 'state', 'segments', 'size', 'free', 'path'],
      ...volumes.map((volume) => [
        volume.name,
        stateOf(volume),
        String(volume.segments),
        formatBytes(volume.bytes),
        volume.freeBytes === undefined || volume.kind === 'linked' ? '-' : formatBytes(volume.freeBytes),
        volume.path,
      ]),
    ];
    const sides = rows[0]!.map(() => 'left' as const);
    for (const line of alignedRows(rows, sides)) await terminal.line(printable(line));
    for (const { failure } of volumes) if (failure) terminal.say(`${printable(failure.message)}\n  ${failure.advice}`);
  }
  return EXIT_FINE;
}

function stateOf({ failure, kind, writable }: VolumeStatus): string {
  if (failure) return 'missing';
  if (kind === 'linked') return 'linked';
  return writable ? 'writable' : 'read-only';
}

function volumeJson(volume: VolumeStatus): Record<string, unknown> {
  const { failure, ...rest } = volume;
  return { ...rest, state: stateOf(volume), failure: failure?.message ?? null };
}

export async function volumeAdd(
  context: CommandContext,
  archive: Archive,
  name: string,
  path: string,
  options: ArchiveCommandOptions & {
    readonly create?: boolean;
    readonly readOnly?: boolean;
    readonly endpoint?: string;
    readonly region?: string;
    readonly take?: boolean;
  },
): Promise<number> {
  const { terminal } = context;
  const isBucket = path.startsWith('s3://');
  const directory = isBucket ? path : resolveTypedPath(context, path);
  const isReadOnly = options.readOnly ?? false;
  if (!isBucket && !isReadOnly && !options.create && !(await mayBeUsed(terminal, directory))) {
    terminal.say('no volume was added');
    return EXIT_FINE;
  }
  const before = (await archive.segments()).length;
  const { endpoint, region, take: takesOver } = options;
  const traits = await archive.addVolume(
    { name, path: directory, isReadOnly, endpoint, region, takesOver },
    // In a server, other requests use the archive, so adding a volume cannot be interrupted and finished at the next
    // opening.
    { onProgress: segmentProgress(terminal, 'volume add'), signal: context.archive ? undefined : context.signal },
  );
  terminal.clearStatus();
  const segments = (await archive.segments()).length - before;
  if (options.json) await terminal.json({ name, segments, ...(traits && { bucket: traits }) });
  else {
    const found =
      segments > 0 ? `, with ${counted(segments, 'segment')} that ${segments === 1 ? 'was' : 'were'} there` : '';
    await terminal.line(`added volume ${name}${found}`);
    if (traits) for (const line of describeBucket(traits)) await terminal.line(line);
  }
  return EXIT_FINE;
}

/** What an archivist has to know of a bucket. */
function describeBucket({ keepsVersions, hasObjectLock, clockSkewMs }: BucketTraits): string[] {
  const lines = ['the server keeps conditional requests, so that no other archive can write to it unnoticed'];
  if (hasObjectLock) lines.push('the bucket has object lock: deleted bytes stay in it until their retention ends');
  else if (keepsVersions)
    lines.push('the bucket keeps versions: deleted bytes stay in it until the versions are removed');
  else if (keepsVersions === undefined)
    lines.push('whether the bucket keeps versions of what is deleted cannot be read with this key');
  if (Math.abs(clockSkewMs) > CLOCK_SKEW_MS)
    lines.push(
      `the clock of the server is ${Math.round(Math.abs(clockSkewMs) / 1000)} s ${clockSkewMs > 0 ? 'ahead' : 'behind'}; requests are refused from 15 minutes on`,
    );
  return lines;
}

export async function volumeTake(
  { terminal, signal }: CommandContext,
  archive: Archive,
  name: string,
  options: ArchiveCommandOptions & { readonly yes?: boolean },
): Promise<number> {
  if (!options.yes) {
    const answer = await terminal.ask(
      `Take the volume ${name}? An archive that still writes to it is refused from then on, and the catalog here is made again. [y/N] `,
    );
    if (answer === undefined) throw new PinakesError('CONFIRMATION_NEEDED', { where: 'volume take' });
    if (!/^y(es)?$/i.test(answer.trim())) {
      terminal.say('nothing was changed');
      return EXIT_FINE;
    }
  }
  const isDone = await archive.takeVolume(name, { signal, onProgress: segmentProgress(terminal, 'volume take') });
  terminal.clearStatus();
  if (options.json) await terminal.json({ name, isDone });
  else if (isDone) await terminal.line(`took the volume ${name}, and made the catalog again`);
  else await terminal.line(`took the volume ${name}; take the other buckets too, which makes the catalog again`);
  return EXIT_FINE;
}

/**
 * Whether the path exists, or the person agrees to create it. Without this question, a mistyped path would become a
 * volume, and new records would be stored in it.
 */
async function mayBeUsed(terminal: Terminal, path: string): Promise<boolean> {
  const isAbsent = await stat(path).then(
    () => false,
    ({ code }: NodeJS.ErrnoException) => code === 'ENOENT',
  );
  if (!isAbsent) return true;
  const answer = await terminal.ask(`${printable(path)} does not exist. Create it? [y/N] `);
  if (answer !== undefined) return /^y(es)?$/i.test(answer.trim());
  throw new PinakesError('FILE_MISSING', { where: path, detail: 'add --create to create the directory' });
}

export async function volumeRemove(
  { terminal }: CommandContext,
  archive: Archive,
  name: string,
  options: ArchiveCommandOptions,
): Promise<number> {
  await archive.removeVolume(name);
  if (options.json) await terminal.json({ name });
  else await terminal.line(`removed volume ${name}; its directory is still there`);
  return EXIT_FINE;
}

export async function volumeSet(
  { terminal }: CommandContext,
  archive: Archive,
  name: string,
  state: string,
  options: ArchiveCommandOptions,
): Promise<number> {
  if (state !== 'read-only' && state !== 'writable')
    throw badArgument(state, 'the state of a volume is read-only or writable');
  await archive.setVolumeWritable(name, state === 'writable');
  if (options.json) await terminal.json({ name, state });
  else await terminal.line(`volume ${name} is ${state}`);
  return EXIT_FINE;
}

export async function volumeMigrate(
  { terminal, signal }: CommandContext,
  archive: Archive,
  from: string,
  to: string,
  options: ArchiveCommandOptions & { readonly dryRun?: boolean },
): Promise<number> {
  const bytes = (await archive.segments())
    .filter((segment) => segment.volume === from)
    .reduce((sum, segment) => sum + segment.bytes, 0);
  const progress = new Progress(terminal, 'migrate', bytes);
  const report = await archive.migrate(from, to, {
    dryRun: options.dryRun === true,
    signal,
    onProgress: ({ segment, bytes: done }) => progress.update(done, segment),
  });
  progress.end();
  const { failures, ...figures } = report;
  if (options.json) await terminal.json({ isDone: !options.dryRun, from, to, ...figures, failed: failures.length });
  else {
    const what = `${counted(figures.segments, 'segment')} of ${formatBytes(figures.bytes)} from ${from} to ${to}`;
    const { freeBytes } = figures;
    const room = freeBytes === undefined ? '' : `, which has ${formatBytes(freeBytes)} free`;
    await terminal.line(options.dryRun ? `would move ${what}${room}` : `moved ${what}`);
  }
  return printFailures(terminal, failures, EXIT_FINE);
}
