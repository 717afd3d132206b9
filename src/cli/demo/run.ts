/** `pinakes demo`: creates an archive of a sample site on three days, without any network, and serves it. */
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
  // Ports are checked before the archive is created, because an existing archive would block the next attempt.
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

/** Stores three snapshots, each in a collection of its own. Contents that did not change become revisits. */
async function makeDemo(context: CommandContext, directory: string): Promise<void> {
  await createArchive(directory, { name: 'The Library' });
  const archive = await openArchive(directory, openingOptions(context, 'demo'));
  try {
    for (const { collection, time, exchanges } of demoSnapshots()) {
      // Some seconds apart, as a crawler would capture them.
      for (const [index, { url, head, body }] of exchanges.entries())
        await archive.store({ kind: 'http', url, time: time + index * 2000, responseHead: head, body }, { collection });
    }
    const { captures, revisits } = await archive.totals();
    context.terminal.say(
      `Stored ${counted(captures, 'capture')} of a sample site on three days; ${revisits} of them had not changed and are revisits.`,
    );
  } finally {
    await archive.close();
  }
}

/** Opens the browser where there is a screen. Failing to open it is not an error. */
function openBrowser(url: string): void {
  const command = { darwin: 'open', win32: 'explorer' }[process.platform as string] ?? 'xdg-open';
  const hasScreen = process.platform !== 'linux' || Boolean(process.env.DISPLAY ?? process.env.WAYLAND_DISPLAY);
  if (!hasScreen) return;
  const child = spawn(command, [url], { stdio: 'ignore', detached: true });
  child.on('error', () => {});
  child.unref();
}
