/** The scripts that replayed pages run with, served under `/static/` of the replay origin. */
import { readFileSync } from 'node:fs';
import { utf8 } from '../base/index.ts';
import { PAGE_SCRIPT } from './page-script.ts';

export type Asset = { readonly mime: string; readonly bytes: Uint8Array };

const WOMBAT_FILES: Readonly<Record<string, string>> = {
  'wombat.js': import.meta.resolve('@webrecorder/wombat/dist/wombat.js'),
  'wombatWorkers.js': import.meta.resolve('@webrecorder/wombat/dist/wombatWorkers.js'),
};
const SCRIPT_MIME = 'text/javascript; charset=utf-8';

let assets: Map<string, Asset> | undefined;

/** By file name. Read once. */
export function replayAssets(): Map<string, Asset> {
  if (assets) return assets;
  assets = new Map([['pinakes-replay.js', { mime: SCRIPT_MIME, bytes: utf8(PAGE_SCRIPT) }]]);
  for (const [name, url] of Object.entries(WOMBAT_FILES)) {
    assets.set(name, { mime: SCRIPT_MIME, bytes: readFileSync(new URL(url)) });
  }
  return assets;
}
