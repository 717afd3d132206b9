/** replay: turns a capture into an answer that a browser can live in: choice, head, rewriting, Memento. No sockets. */
export { replayAssets } from './assets.ts';
export { firstCandidate, isOfScheme } from './choose/candidates.ts';
export { isMemento } from './choose/capture-choice.ts';
export { shownAround } from './choose/neighbours.ts';
export { inPageScript } from './in-page-script.ts';
export {
  httpDate,
  linkOf,
  linkTarget,
  mementoLink,
  mementoUri,
  type ReplayOrigins,
  resourceLinks,
  timeGateUri,
  timeMapUri,
} from './memento.ts';
export { REPLAY_FRAME_NAME, STATIC_ROOT } from './page-head.ts';
export { parseReplayPath, REPLAY_ROOT, type ReplayPath, replayPath } from './replay-path.ts';
export { Replayer, type ReplayRequest, type ReplayResponse } from './replayer.ts';
export { HtmlRewriter } from './rewrite/html-rewriter.ts';
export { LinkRewriter } from './rewrite/link-rewriter.ts';
export type { Modifier } from './rewrite/modifier.ts';
export { ASSET_POLICY } from './security-fields.ts';
