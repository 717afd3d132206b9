/** The scripts that replayed pages run with, served under `/static/` of the replay origin. */
import { readFileSync } from 'node:fs';
import { utf8 } from '../base/index.ts';
import { PAGE_SCRIPT } from './in-page/page-script.ts';
import { MODULE_WORKER_SCRIPT, WORKER_PATCHES } from './in-page/worker-script.ts';

export type Asset = { readonly mime: string; readonly bytes: Uint8Array };

const WOMBAT = import.meta.resolve('@webrecorder/wombat/dist/wombat.js');
const WOMBAT_WORKERS = import.meta.resolve('@webrecorder/wombat/dist/wombatWorkers.js');
const SCRIPT_MIME = 'text/javascript; charset=utf-8';

let assets: Map<string, Asset> | undefined;

/** By file name. Read once. */
export function replayAssets(): Map<string, Asset> {
  if (assets) return assets;
  const texts: Readonly<Record<string, string>> = {
    'wombat.js': textOf(WOMBAT),
    'pinakes-replay.js': PAGE_SCRIPT,
    // Under wombat's own name, by which it starts workers of its own making.
    'wombatWorkers.js': textOf(WOMBAT_WORKERS) + WORKER_PATCHES,
    'module-worker.js': MODULE_WORKER_SCRIPT,
  };
  assets = new Map(Object.entries(texts).map(([name, text]) => [name, { mime: SCRIPT_MIME, bytes: utf8(text) }]));
  return assets;
}

function textOf(url: string): string {
  return readFileSync(new URL(url), 'utf8');
}
