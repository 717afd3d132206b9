/**
 * Prepares a worker that is a module. This script is the first import of the worker, so that the modules after it find
 * the worker prepared. It imports wombatWorkers.js first, and reads the time and the original URL from the worker's own
 * URL.
 */
import type { WorkerInfo } from './worker.ts';

declare const self: Window & typeof globalThis & { readonly WBWombat: new (info: WorkerInfo) => object };

export function startModuleWorker(): void {
  const parts = /^([^/]+\/\/[^/]+\/web\/)(\d*)[a-z]*_?\/([\s\S]*)$/.exec(self.location.href)!;
  const [, prefix, stamp, originalURL] = parts as unknown as [string, string, string, string];
  new self.WBWombat({ prefix, prefixMod: `${prefix}${stamp}wkrf_/`, originalURL });
}
