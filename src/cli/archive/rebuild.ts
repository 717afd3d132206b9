/** `pinakes rebuild`: builds the catalog again from the segments. */
import {
  ARCHIVE_VERSION,
  type Archive,
  type ArchiveOptions,
  dropCatalog,
  isCatalogSound,
  openArchive,
  readConnector,
} from '../../archive/index.ts';
import { PinakesError } from '../../base/index.ts';
import { type ArchiveCommandOptions, openingOptions, segmentBytes } from '../archive-command.ts';
import type { CommandContext } from '../command.ts';
import { EXIT_FINE, EXIT_FOUND } from '../outcome.ts';
import { Progress } from '../progress.ts';
import { runInServer } from '../remote.ts';
import { counted, formatBytes, formatFinding } from '../terminal.ts';

const BROKEN: ReadonlySet<string> = new Set(['ARCHIVE_OLD', 'CATALOG_DAMAGED', 'CATALOG_VERSION']);

export async function archiveRebuild(context: CommandContext, options: ArchiveCommandOptions): Promise<number> {
  // In a server, other requests use the archive. They must not see a half-built catalog, so the rebuild cannot be
  // interrupted there.
  if (context.archive) return rebuild(context, options, context.archive, undefined);
  const code = await runInServer(context, options.archive);
  if (code !== undefined) return code;
  const { signal } = context;
  const opening = openingOptions(context, 'rebuild');
  const { version } = await readConnector(options.archive);
  if (version < ARCHIVE_VERSION) throw new PinakesError('ARCHIVE_OLD', { where: options.archive });
  // The numbers of the collections are copied from the old catalog if it can be read. Opening the catalog does not
  // detect all damage, and damage would make the rebuild fail, or crash the process.
  if (!(await isCatalogSound(options.archive))) await drop(context, options, 'the catalog is damaged');
  const archive = await openChangeable(options.archive, opening).catch(async (error: unknown) => {
    if (!(error instanceof PinakesError) || !BROKEN.has(error.code)) throw error;
    await drop(context, options, error.message);
    return openArchive(options.archive, opening);
  });
  try {
    return await rebuild(context, options, archive, signal);
  } finally {
    await archive.close();
  }
}

/** Opens the archive. Fails when the upgrade of its catalog was interrupted, which only a new catalog makes up for. */
async function openChangeable(directory: string, options: ArchiveOptions): Promise<Archive> {
  const archive = await openArchive(directory, options);
  if (!archive.isOld) return archive;
  await archive.close();
  throw new PinakesError('ARCHIVE_OLD', { where: directory, detail: 'its upgrade was interrupted' });
}

async function drop({ terminal }: CommandContext, { archive }: ArchiveCommandOptions, why: string): Promise<void> {
  terminal.say(`${why}; it is built again`);
  await dropCatalog(archive);
}

async function rebuild(
  { terminal, reportToJob, archive: served }: CommandContext,
  options: ArchiveCommandOptions,
  archive: Archive,
  signal: AbortSignal | undefined,
): Promise<number> {
  const progress = new Progress(terminal, 'rebuild', await segmentBytes(archive));
  let errors = 0;
  await archive.rebuild({
    onFinding: (finding) => {
      if (finding.level !== 'error') return;
      errors++;
      // Without a server, opening the archive has already printed these findings on this terminal.
      if (served) terminal.say(formatFinding(finding));
    },
    ...(signal && { signal }),
    onProgress: ({ bytes, name }) => progress.advance(bytes, name),
  });
  progress.end();
  const totals = await archive.totals();
  const segments = (await archive.segments()).length;
  // Counted after the rebuild, because segments in the old catalog may be gone or shorter now.
  const storedBytes = await segmentBytes(archive);
  reportToJob?.({ segments, storedBytes, ...totals });
  if (options.json) await terminal.json({ segments, storedBytes, ...totals });
  else {
    await terminal.line(
      `rebuilt from ${counted(segments, 'segment')} of ${formatBytes(storedBytes)}: ` +
        `${counted(totals.captures, 'capture')}, ${counted(totals.blocks, 'content')}`,
    );
  }
  // Segments that could not be read were reported by name.
  return errors + archive.unreadSegments.size > 0 ? EXIT_FOUND : EXIT_FINE;
}
