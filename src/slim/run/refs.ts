/**
 * `slim refs`: rewrites files from resolved manifests, the last stage apart from the others; as safe and as resumable
 * as a whole run.
 */
import { type ResolvedInput, type SlimRunOptions, slimRun } from './run.ts';
import type { RunSummary } from './run-summary.ts';

export type SlimRefsOptions = SlimRunOptions & { readonly resolved: ResolvedInput };

export function slimRefs(options: SlimRefsOptions): Promise<RunSummary> {
  return slimRun(options);
}
