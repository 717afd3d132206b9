/**
 * `pinakes get`: prints one capture of a URL on standard output. A damaged capture is printed as far as it can be read,
 * and the damage is reported.
 */
import { type Archive, captureId, formatContentKey, lacksAnswer, type Retrieved } from '../../archive/index.ts';
import { badArgument, formatW3cDate, PinakesError } from '../../base/index.ts';
import { formatPageId, pageId, parsePageId } from '../../url/index.ts';
import { type ArchiveCommandOptions, parseTimeOption } from '../archive-command.ts';
import { type CommandContext, interruptible } from '../command.ts';
import { sayDamage } from '../damage-tally.ts';
import { printDecoded } from '../decoded-output.ts';
import { EXIT_FINE, EXIT_FOUND } from '../outcome.ts';

export type GetCommandOptions = ArchiveCommandOptions & {
  readonly at?: string;
  readonly pageId?: string;
  readonly headers?: boolean;
  readonly payload?: boolean;
  readonly raw?: boolean;
};

export async function archiveGet(
  { terminal, signal }: CommandContext,
  archive: Archive,
  url: string | undefined,
  options: GetCommandOptions,
): Promise<number> {
  const found = await findCapture(archive, url, options);
  const { capture } = found;
  const payload = interruptible(found.payload, signal);
  // The payload is read to its end, because only the end shows whether the record is damaged.
  if (options.json || options.raw || options.headers) for await (const _ of payload);
  if (options.json) await terminal.json(await captureJson(archive, found));
  else if (options.raw) {
    // The write may wait, and a piece is valid only until the next one is requested.
    for await (const piece of archive.records.memberPieces(capture.place)) await terminal.write(Buffer.from(piece));
  } else if (options.headers) {
    await terminal.write(found.head.bytes);
    if (found.http) await terminal.write(found.http.bytes);
  } else {
    if (lacksAnswer(capture, found.http)) {
      const detail = `the capture of ${formatW3cDate(capture.time)} is a revisit whose original was never added`;
      throw new PinakesError('CONTENT_MISSING', { where: capture.url, detail });
    }
    if (options.payload) for await (const piece of payload) await terminal.write(piece);
    else if (!(await printDecoded(terminal, payload, () => found.holderHttp?.contentCodings ?? [], signal)))
      terminal.say(
        'the content coding of the body could not be removed to the end; --payload prints the body as captured',
      );
  }
  const damage = found.damage();
  for (const one of damage) sayDamage(terminal, one);
  return damage.length > 0 ? EXIT_FOUND : EXIT_FINE;
}

/** Finds the capture by URL or by page id. */
async function findCapture(archive: Archive, url: string | undefined, options: GetCommandOptions): Promise<Retrieved> {
  const at = options.at === undefined ? undefined : parseTimeOption(options.at);
  if ((url === undefined) === (options.pageId === undefined))
    throw badArgument('get', 'name a URL, or a page with --page-id');
  if (url !== undefined) return archive.get(url, at, { checksDigest: true });
  const id = parsePageId(options.pageId!);
  if (id !== undefined) return archive.getPage(id, at, { checksDigest: true });
  throw badArgument(`--page-id ${options.pageId}`, 'a page id is 16 hexadecimal digits, as `get --json` prints it');
}

async function captureJson(archive: Archive, { capture, head, damage }: Retrieved): Promise<Record<string, unknown>> {
  const { place, block } = capture;
  const [location] = await archive.records.locate([place]);
  if (!location) throw new PinakesError('CONTENT_MISSING', { where: `segment ${place.segment}` });
  const [held] = block ? await archive.getBlocks([block]) : [];
  const [holder] = held ? await archive.records.locate([held.holder]) : [];
  return {
    url: capture.url,
    pageId: formatPageId(pageId(capture.url)),
    id: captureId(capture),
    time: formatW3cDate(capture.time),
    kind: capture.kind,
    status: capture.status,
    mime: capture.mime,
    collection: await archive.collections.name(capture.collection),
    key: block ? formatContentKey((holder ?? location).volume, block) : null,
    recordId: head.recordId ?? null,
    volume: location.volume,
    segment: location.segment,
    offset: place.offset,
    length: place.length,
    damage: damage(),
  };
}
