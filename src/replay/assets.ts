/** The scripts of replayed pages, served under `/static/` of the replay origin. */
import { readFileSync } from 'node:fs';
import { utf8 } from '../base/index.ts';
import { inPageScript } from './in-page-script.ts';
import { ORIGINAL_PREFIX } from './rewrite/response-head.ts';
import { CHANGED_LOCATION, CHECK_LOCATION, STAND_INS } from './rewrite/script-rewriter.ts';

export type Asset = { readonly mime: string; readonly bytes: Uint8Array };

const WOMBAT = import.meta.resolve('@webrecorder/wombat/dist/wombat.js');
const WOMBAT_WORKERS = import.meta.resolve('@webrecorder/wombat/dist/wombatWorkers.js');
const SCRIPT_MIME = 'text/javascript; charset=utf-8';

let assets: ReadonlyMap<string, Asset> | undefined;

/** The scripts by file name, read once. */
export function replayAssets(): ReadonlyMap<string, Asset> {
  if (assets) return assets;
  const originalFieldPrefix = ORIGINAL_PREFIX.toLowerCase();
  // `PageSettings` of in-page/.
  const settings = {
    standIns: STAND_INS,
    checkLocation: CHECK_LOCATION,
    changedLocation: CHANGED_LOCATION,
    originalFieldPrefix,
  };
  const texts: Readonly<Record<string, string>> = {
    'wombat.js': textOf(WOMBAT),
    'pinakes-replay.js': inPageScript('page', settings),
    // Wombat starts the workers that it makes itself from a script of this name.
    'wombatWorkers.js': `${textOf(WOMBAT_WORKERS)}\n${inPageScript('worker', originalFieldPrefix)}`,
    'module-worker.js': `import './wombatWorkers.js';\n${inPageScript('module-worker')}`,
  };
  assets = new Map(Object.entries(texts).map(([name, text]) => [name, { mime: SCRIPT_MIME, bytes: utf8(text) }]));
  return assets;
}

function textOf(url: string): string {
  return readFileSync(new URL(url), 'utf8');
}
