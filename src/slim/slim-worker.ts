/** A thread that does the heavy work of slimming: checks originals, compares payloads, rewrites files. One task at a time. */
import { parentPort } from 'node:worker_threads';
import { PinakesError } from '../base/index.ts';
import { type ArcRewriteJob, rewriteArcFile } from './arc-rewrite.ts';
import { checkOriginals, type OriginalCheck, type OriginalVerdict } from './original-check.ts';
import { type ComparisonVerdict, comparePayloads, type PayloadComparison } from './payload-comparison.ts';
import { type RewriteJob, type RewriteReport, rewriteFile } from './rewrite.ts';

export type SlimTask =
  | { readonly kind: 'check'; readonly check: OriginalCheck }
  | { readonly kind: 'compare'; readonly comparisons: readonly PayloadComparison[] }
  | { readonly kind: 'rewrite'; readonly job: RewriteJob }
  | { readonly kind: 'rewrite-arc'; readonly job: ArcRewriteJob };

export type SlimResult = {
  check: OriginalVerdict[];
  compare: ComparisonVerdict[][];
  rewrite: RewriteReport;
  'rewrite-arc': RewriteReport;
};

export type SlimFailure = { readonly code: string; readonly where: string | undefined; readonly detail: string };

export type SlimAnswer = { readonly result: unknown } | { readonly failure: SlimFailure };

async function perform(task: SlimTask): Promise<SlimResult[SlimTask['kind']]> {
  switch (task.kind) {
    case 'check':
      return checkOriginals(task.check);
    case 'compare':
      return task.comparisons.map(comparePayloads);
    case 'rewrite':
      return rewriteFile(task.job);
    case 'rewrite-arc':
      return rewriteArcFile(task.job);
  }
}

parentPort?.on('message', async (task: SlimTask) => {
  try {
    parentPort?.postMessage({ result: await perform(task) } satisfies SlimAnswer);
  } catch (cause) {
    const isKnown = cause instanceof PinakesError;
    const failure: SlimFailure = {
      code: isKnown ? cause.code : '',
      where: isKnown ? cause.where : undefined,
      detail: isKnown ? '' : String((cause as Error)?.stack ?? cause),
    };
    parentPort?.postMessage({ failure } satisfies SlimAnswer);
  }
});
