/** `pinakes delete`: deletes captures after a preview. */
import { type Archive, captureId, type DeletePreview, parseContentKey, type Selection } from '../../archive/index.ts';
import { badArgument, PinakesError } from '../../base/index.ts';
import { type ArchiveCommandOptions, parseTimeOption } from '../archive-command.ts';
import type { CommandContext } from '../command.ts';
import { EXIT_FINE } from '../outcome.ts';
import { RunningCount } from '../running-count.ts';
import { counted, formatBytes, printable, type Terminal } from '../terminal.ts';
import { archiveTakedown, type TakedownCommandOptions } from './takedown.ts';

export type SelectionOptions = {
  readonly collection?: string;
  readonly url?: string;
  readonly prefix?: string;
  readonly key?: string;
  readonly from?: string;
  readonly to?: string;
  readonly mime?: string;
  readonly status?: string;
  readonly query?: string;
};

export type DeleteCommandOptions = ArchiveCommandOptions &
  SelectionOptions & {
    readonly all?: boolean;
    readonly capture?: string;
    readonly takedown?: boolean;
    readonly reason?: string;
    readonly by?: string;
    readonly yes?: boolean;
    readonly dryRun?: boolean;
  };

export async function archiveDelete(
  context: CommandContext,
  archive: Archive,
  options: DeleteCommandOptions,
): Promise<number> {
  if (options.takedown) return archiveTakedown(context, archive, takedownOf(options));
  if (options.reason !== undefined || options.by !== undefined)
    throw badArgument('delete', '--reason and --by go with --takedown');
  const { terminal, signal, reportToJob, startJob } = context;
  const { released, selection } = await deletionOf(archive, options);
  // Captures that are stored while the person reads the preview are not deleted: the person has not seen them.
  await using seen = await archive.view();
  const counting = new RunningCount(terminal, 'delete');
  const preview = await archive.previewDelete(selection, {
    signal,
    seen,
    onProgress: (captures) => counting.update(`${counted(captures, 'capture')} found`),
  });
  counting.end();
  if (preview.captures === 0 || options.dryRun) {
    if (options.json) await terminal.json({ isDone: false, ...preview });
    else await terminal.line(formatPreview(preview, 'would be deleted'));
    return EXIT_FINE;
  }
  if (!options.yes) {
    terminal.say(formatPreview(preview, 'will be deleted'));
    if (!(await isConfirmed(terminal))) {
      terminal.say('nothing was deleted');
      if (options.json) await terminal.json({ isDone: false, ...preview });
      return EXIT_FINE;
    }
  }
  await startJob?.();
  const deleting = new RunningCount(terminal, 'delete');
  const report =
    released !== undefined
      ? await archive.release(released)
      : await archive.delete(selection, {
          signal,
          seen,
          onProgress: (captures) => deleting.update(`${captures} of ${counted(preview.captures, 'capture')}`),
        });
  deleting.end();
  reportToJob?.(report);
  if (options.json) await terminal.json({ isDone: true, ...report });
  else {
    await terminal.line(`deleted ${counted(report.captures, 'capture')} and ${counted(report.contents, 'content')}`);
    terminal.say('Their bytes are still in the segments; `pinakes compact` removes them.');
  }
  return EXIT_FINE;
}

/** A takedown of a URL bars its contents too, under every URL. */
function takedownOf({ url, key, ...options }: DeleteCommandOptions): TakedownCommandOptions {
  const { collection, prefix, from, to, mime, status, query, capture, all, ...others } = options;
  const narrowing = [collection, prefix, from, to, mime, status, query, capture, all];
  if (narrowing.some((value) => value !== undefined) || (url ?? key) === undefined)
    throw badArgument('--takedown', 'name one URL with --url, or one content with --key; `takedown` takes several');
  const named = {
    ...(url !== undefined && { url: [nonEmptyUrl(url, '--url')] }),
    ...(key !== undefined && { key: [key] }),
  };
  return { ...others, ...named, withContents: true };
}

/** What the options ask to delete. `released`: the key of a content of which one reference is given back. */
async function deletionOf(
  archive: Archive,
  options: DeleteCommandOptions,
): Promise<{ released: string | undefined; selection: Selection }> {
  const { key, all, capture: id } = options;
  const given = await selectionOf(archive, options);
  if (id === undefined && Object.keys(given).length === 0) {
    const detail =
      'select what to delete with --collection, --url, --prefix, --key, --capture, --from, --to, --mime, --status or --query';
    throw badArgument('delete', detail);
  }
  if (all && key === undefined) throw badArgument('--all', 'it goes with --key, for every capture of the content');
  if (id !== undefined) {
    const capture = await archive.captureById(id);
    // An id of a deleted capture also finds the same capture in another collection.
    if (!capture || captureId(capture) !== id) throw new PinakesError('CONTENT_MISSING', { where: `capture ${id}` });
    return { released: undefined, selection: { ...given, capture } };
  }
  const isOne = key !== undefined && !all && Object.keys(given).length === 1;
  if (!isOne) return { released: undefined, selection: given };
  return { released: key, selection: { ...given, capture: await archive.referenceOf(key) } };
}

/** The selection that the options describe. A collection that does not exist is refused: it is a typing error. */
export async function selectionOf(archive: Archive, options: SelectionOptions): Promise<Selection> {
  const { collection, url, prefix, key, from, to } = options;
  const query = await archive.askedQuery(options);
  return {
    ...(collection !== undefined && { collection: await collectionNumber(archive, collection) }),
    ...(url !== undefined && { url: nonEmptyUrl(url, '--url') }),
    ...(prefix !== undefined && { prefix: nonEmptyUrl(prefix, '--prefix') }),
    ...(key !== undefined && { block: parseContentKey(key) }),
    ...(from !== undefined && { from: parseTimeOption(from) }),
    ...(to !== undefined && { to: parseTimeOption(to, 'end') }),
    ...(query !== undefined && { query }),
  };
}

/** Refuses an empty URL, which comes from a shell variable that was never set and would select nothing. */
function nonEmptyUrl(url: string, option: string): string {
  if (!/^\s*([a-z][a-z0-9+.-]*:\/*)?\**\s*$/i.test(url)) return url;
  throw badArgument(`${option} '${url}'`, 'the URL is empty');
}

async function collectionNumber(archive: Archive, name: string): Promise<number> {
  const number = await archive.collections.find(name);
  if (number !== undefined) return number;
  const names = (await archive.collections.all()).map((collection) => collection.name);
  const detail = names.length > 0 ? `the archive has ${names.join(', ')}` : 'the archive has no collections yet';
  throw badArgument(`collection ${name}`, detail);
}

function formatPreview(preview: DeletePreview, deleted: string): string {
  if (preview.captures === 0) return 'no capture is selected; nothing to delete';
  const { captures, addresses } = preview;
  const examples = preview.examples.map((url, index) => {
    const count = preview.exampleCaptures[index]!;
    return `  ${printable(url)}${count > 1 ? `  (${counted(count, 'capture')})` : ''}`;
  });
  if (addresses > examples.length) examples.push(`  ... and ${addresses - examples.length} more`);
  return [
    `${counted(captures, 'capture')}${captures > addresses ? ` of ${counted(addresses, 'URL')}` : ''} ${deleted}:`,
    ...examples,
    `${counted(preview.contents, 'content')} of ${formatBytes(preview.contentBytes)} that nothing else refers to ${deleted} too; ` +
      `${counted(preview.contentsKept, 'content')} ${preview.contentsKept === 1 ? 'stays' : 'stay'}, shared with other captures`,
  ].join('\n');
}

async function isConfirmed(terminal: Terminal): Promise<boolean> {
  const answer = await terminal.ask('Delete? [y/N] ');
  if (answer !== undefined) return /^y(es)?$/i.test(answer.trim());
  throw new PinakesError('CONFIRMATION_NEEDED', { where: 'delete' });
}
