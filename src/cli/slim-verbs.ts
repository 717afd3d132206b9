/** What the slim commands do, loaded together. */
export { slimAssessCommand } from './slim-assess.ts';
export { slimCompareCommand, slimResolveCommand, slimSplitCommand, slimSumCommand } from './slim-manifest.ts';
export { slimRefsCommand, slimRunCommand, slimUndoCommand } from './slim-run.ts';
