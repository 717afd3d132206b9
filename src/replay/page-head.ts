/**
 * The start of the head of every replayed document: wombat, our own script, and facts about the page for both. The
 * elements remove themselves, so that the page's scripts do not find them.
 */
import type { EpochMs } from '../base/index.ts';
import { formatTimestamp } from '../base/index.ts';
import { scriptJson } from './in-page-script.ts';
import type { ReplayOrigins } from './memento.ts';
import { REPLAY_ROOT } from './replay-path.ts';
import type { Modifier } from './rewrite/modifier.ts';

/**
 * The name of the frame in which the web interface shows a capture. Links to a new window or to the topmost window open
 * in this frame.
 */
export const REPLAY_FRAME_NAME = 'pinakes-replay';

export const STATIC_ROOT = '/static/';

export type PageFacts = {
  readonly url: string;
  readonly time: EpochMs;
  /** The digits of the requested time. */
  readonly requestStamp: string;
  readonly modifier: Modifier;
  readonly origins: ReplayOrigins;
};

/** Facts about the page, under wombat's names for them. */
function wombatInfo({ url, time, requestStamp, modifier, origins }: PageFacts): Record<string, unknown> {
  const parsed = URL.parse(url);
  const stamp = formatTimestamp(time);
  const isFrame = modifier === 'if_' || modifier === 'fr_';
  return {
    url,
    timestamp: stamp,
    request_ts: requestStamp,
    prefix: origins.replayOrigin + REPLAY_ROOT,
    mod: isFrame ? modifier : 'mp_',
    top_url: `${origins.uiOrigin}${REPLAY_ROOT}${stamp}${isFrame ? 'if_' : ''}/${url}`,
    top_host: origins.uiOrigin,
    is_framed: true,
    is_live: false,
    coll: '',
    proxy_magic: '',
    static_prefix: origins.replayOrigin + STATIC_ROOT,
    enable_auto_fetch: false,
    wombat_ts: stamp,
    wombat_sec: String(Math.floor(time / 1000)),
    wombat_scheme: parsed?.protocol.replace(':', '') ?? 'http',
    wombat_host: parsed?.host ?? '',
    wombat_opts: {},
    target_frame: REPLAY_FRAME_NAME,
  };
}

export function pageHead(facts: PageFacts): string {
  return (
    `<script src="${STATIC_ROOT}wombat.js"></script><script src="${STATIC_ROOT}pinakes-replay.js"></script>` +
    `<script>pinakesReplay(${scriptJson(wombatInfo(facts))})</script>`
  );
}
