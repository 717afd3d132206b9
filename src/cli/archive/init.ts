/** `pinakes init`: creates an archive. */
import { resolve } from 'node:path';
import { createArchive } from '../../archive/index.ts';
import type { CommandContext } from '../command.ts';
import { EXIT_FINE } from '../outcome.ts';
import { printable, shellQuoted, type Terminal } from '../terminal.ts';

export type InitCommandOptions = {
  readonly archive: string;
  readonly name?: string;
  readonly catalog?: string;
  readonly json?: boolean;
};

export async function archiveInit(
  { terminal, newId }: CommandContext,
  directory: string | undefined,
  options: InitCommandOptions,
): Promise<number> {
  const path = directory ?? options.archive;
  const { name, catalog: address } = options;
  const isNew = await createArchive(path, {
    ...(name !== undefined && { name }),
    ...(address !== undefined && { catalog: { address, newId } }),
  });
  if (options.json) await terminal.json({ archive: resolve(path), ...(address !== undefined && { isNew }) });
  else if (address !== undefined) sayInCluster(terminal, path, isNew);
  else {
    await terminal.line(printable(`created an archive in ${path}`));
    const where = path === 'archive' ? '' : ` --archive ${shellQuoted(path)}`;
    const always = `export PINAKES_ARCHIVE=${shellQuoted(resolve(path))}`;
    terminal.say(printable(`Next: ${terminal.program} add${where} FILES...   (or ${always} first)`));
  }
  return EXIT_FINE;
}

function sayInCluster(terminal: Terminal, path: string, isNew: boolean): void {
  const where = path === 'archive' ? '' : ` --archive ${shellQuoted(path)}`;
  if (isNew) {
    terminal.say(printable(`created an archive in the database; ${path} is the directory of this machine`));
    terminal.say(printable(`Next: ${terminal.program} volume add${where} far s3://BUCKET/PREFIX --endpoint URL`));
  } else
    terminal.say(printable(`the database has this archive already; ${path} is the directory of this machine for it`));
}
