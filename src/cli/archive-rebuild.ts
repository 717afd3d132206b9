/** `pinakes rebuild`: makes the catalog again from the segments. */
import { dropCatalog, openArchive } from '../archive/index.ts';
import { PinakesError } from '../base/index.ts';
import { type ArchiveCommandOptions, openingOptions, segmentBytes } from './archive-command.ts';
import type { CommandContext } from './command.ts';
import { EXIT_FINE } from './outcome.ts';
import { Progress } from './progress.ts';
import { counted, formatBytes } from './terminal.ts';

const BROKEN: ReadonlySet<string> = new Set(['CATALOG_DAMAGED', 'CATALOG_VERSION']);

export async function archiveRebuild(context: CommandContext, options: ArchiveCommandOptions): Promise<number> {
  const { terminal, signal } = context;
  const opening = openingOptions(context, 'rebuild');
  const archive = await openArchive(options.archive, opening).catch(async (error: unknown) => {
    if (!(error instanceof PinakesError) || !BROKEN.has(error.code)) throw error;
    terminal.say(`${error.message}; it is made anew`);
    await dropCatalog(options.archive);
    return openArchive(options.archive, opening);
  });
  try {
    const bytes = segmentBytes(archive);
    const progress = new Progress(terminal, 'rebuild', bytes);
    let doneBytes = 0;
    await archive.rebuild({
      signal,
      onProgress: (segment) => {
        doneBytes += segment.bytes;
        progress.update(doneBytes, segment.name);
      },
    });
    progress.end();
    const totals = await archive.catalog.totals();
    const segments = archive.segments().length;
    if (options.json) await terminal.json({ segments, storedBytes: bytes, ...totals });
    else {
      await terminal.line(
        `rebuilt from ${counted(segments, 'segment')} of ${formatBytes(bytes)}: ` +
          `${counted(totals.captures, 'capture')}, ${counted(totals.blocks, 'content')}`,
      );
    }
    return EXIT_FINE;
  } finally {
    await archive.close();
  }
}
