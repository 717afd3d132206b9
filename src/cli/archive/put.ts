/** `pinakes put` and `pinakes cat`: store and print contents by key, without a URL. */
import type { Archive, StoreMode } from '../../archive/index.ts';
import { badArgument } from '../../base/index.ts';
import type { ArchiveCommandOptions } from '../archive-command.ts';
import { type CommandContext, inputBytes, interruptible } from '../command.ts';
import { sayDamage } from '../damage-tally.ts';
import { EXIT_FINE, EXIT_FOUND } from '../outcome.ts';

export type PutCommandOptions = ArchiveCommandOptions & {
  readonly collection?: string;
  readonly mime?: string;
  readonly mode?: string;
  readonly volume?: string;
};

const MODES: readonly StoreMode[] = ['regular', 'compare', 'force-new'];

const MEDIA_TYPE = /^[\w.+!#$&^-]+\/[\w.+!#$&^-]+ *(;[\x20-\x7e]*)?$/;

export async function archivePut(
  context: CommandContext,
  archive: Archive,
  file: string,
  options: PutCommandOptions,
): Promise<number> {
  const { terminal, clock } = context;
  const mode = MODES.find((known) => known === (options.mode ?? 'regular'));
  if (!mode) throw badArgument(`--mode ${options.mode}`, MODES.join(', '));
  if (options.mime !== undefined && !MEDIA_TYPE.test(options.mime))
    throw badArgument(`--mime ${options.mime}`, 'a media type looks like text/html');
  const { key, isNew } = await archive.store(
    {
      kind: 'bytes',
      time: clock(),
      body: inputBytes(context, file),
      ...(options.mime !== undefined && { mime: options.mime }),
    },
    {
      mode,
      ...(options.collection !== undefined && { collection: options.collection }),
      ...(options.volume !== undefined && { volume: options.volume }),
    },
  );
  if (options.json) await terminal.json({ key, isNew });
  else await terminal.line(key);
  return EXIT_FINE;
}

export async function archiveCat({ terminal, signal }: CommandContext, archive: Archive, key: string): Promise<number> {
  const content = await archive.content(key, { checksDigest: true });
  for await (const piece of interruptible(content.payload, signal)) await terminal.write(piece);
  const damage = content.damage();
  for (const one of damage) sayDamage(terminal, one);
  return damage.length > 0 ? EXIT_FOUND : EXIT_FINE;
}
