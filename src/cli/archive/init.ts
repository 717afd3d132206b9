/** `pinakes init`: creates an archive. */
import { resolve } from 'node:path';
import { createArchive } from '../../archive/index.ts';
import type { CommandContext } from '../command.ts';
import { EXIT_FINE } from '../outcome.ts';
import { printable, shellQuoted } from '../terminal.ts';

export type InitCommandOptions = { readonly archive: string; readonly name?: string; readonly json?: boolean };

export async function archiveInit(
  { terminal }: CommandContext,
  directory: string | undefined,
  options: InitCommandOptions,
): Promise<number> {
  const path = directory ?? options.archive;
  await createArchive(path, { ...(options.name !== undefined && { name: options.name }) });
  if (options.json) await terminal.json({ archive: resolve(path) });
  else {
    await terminal.line(printable(`created an archive in ${path}`));
    const where = path === 'archive' ? '' : ` --archive ${shellQuoted(path)}`;
    const always = `export PINAKES_ARCHIVE=${shellQuoted(resolve(path))}`;
    terminal.say(printable(`Next: ${terminal.program} add${where} FILES...   (or ${always} first)`));
  }
  return EXIT_FINE;
}
