/**
 * A worker thread for the heavy work of slim: checks originals, compares payloads, rewrites files. One task at a time.
 */
import { answerJobs } from '../base/index.ts';
import { checkOriginals, type OriginalCheck, type OriginalVerdict } from './plan/original-check.ts';
import { type ComparisonVerdict, comparePayloads, type PayloadComparison } from './plan/payload-comparison.ts';
import { type ArcRewriteJob, rewriteArcFile } from './rewrite/arc-rewrite.ts';
import { type RewriteJob, type RewriteReport, rewriteFile } from './rewrite/rewrite.ts';

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

answerJobs(perform);
