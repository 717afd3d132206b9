/** `pinakes demo`: makes an archive of a sample site as it was on three days, without any network, and serves it. */
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createArchive, openArchive } from '../../archive/index.ts';
import { openingOptions } from '../archive-command.ts';
import type { CommandContext } from '../command.ts';
import { portsOf, serve } from '../serve/run.ts';
import { counted } from '../terminal.ts';
import { DEMO_HOST, demoSnapshots } from './site.ts';

export type DemoOptions = {
  readonly keep?: string;
  readonly port: string;
  readonly replayPort: string;
  readonly open: boolean;
  readonly json?: boolean;
};

export async function demo(context: CommandContext, options: DemoOptions): Promise<number> {
  // Before anything is made: the archive would be in the way of the next try.
  portsOf(options);
  const directory = options.keep ?? (await mkdtemp(join(tmpdir(), 'pinakes-demo-')));
  try {
    await makeDemo(context, directory);
    return await serve(
      context,
      {
        archive: directory,
        port: options.port,
        replayPort: options.replayPort,
        host: '127.0.0.1',
        accessLogFormat: 'json',
        ...(options.json && { json: true }),
      },
      (uiUrl) => {
        context.terminal.say(`The sample site is at ${uiUrl}/web/*/${DEMO_HOST}/`);
        if (options.open) openBrowser(`${uiUrl}/web/*/${DEMO_HOST}/`);
      },
    );
  } finally {
    if (options.keep === undefined) await rm(directory, { recursive: true, force: true });
  }
}

/** Three snapshots, each a collection; what did not change becomes revisits. */
async function makeDemo(context: CommandContext, directory: string): Promise<void> {
  await createArchive(directory, { name: 'The Library' });
  const archive = await openArchive(directory, openingOptions(context, 'demo'));
  try {
    for (const { collection, time, exchanges } of demoSnapshots()) {
      // One after another, some seconds apart, as a crawler would.
      for (const [index, { url, head, body }] of exchanges.entries())
        await archive.store({ kind: 'http', url, time: time + index * 2000, responseHead: head, body }, { collection });
    }
    const { captures, revisits } = await archive.totals();
    context.terminal.say(
      `Made ${counted(captures, 'capture')} of a sample site on three days; ${revisits} had not changed and are kept once.`,
    );
  } finally {
    await archive.close();
  }
}

/** Only where there is a screen; that it does not open is no failure. */
function openBrowser(url: string): void {
  const command = { darwin: 'open', win32: 'explorer' }[process.platform as string] ?? 'xdg-open';
  const hasScreen = process.platform !== 'linux' || Boolean(process.env.DISPLAY ?? process.env.WAYLAND_DISPLAY);
  if (!hasScreen) return;
  const child = spawn(command, [url], { stdio: 'ignore', detached: true });
  child.on('error', () => {});
  child.unref();
}
