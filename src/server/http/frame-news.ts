/**
 * The script by which a page of our own making, shown in the frame of the web page, tells that where it is; archived
 * pages do so through wombat. Without it the banner would go on naming the page from which a reader came.
 */
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { formatTimestamp } from '../../base/index.ts';
import { parseReplayPath } from '../../replay/index.ts';

export type FrameNews = {
  readonly element: string;
  /** What the policy of the page must add for it. */
  readonly policy: string;
};

const NONE: FrameNews = { element: '', policy: '' };

/** For a capture that was asked for in a frame; where browsers do not say what they ask for, the script finds out. */
export function frameNews(request: IncomingMessage, title: string, uiOrigin: string | undefined): FrameNews {
  const destination = request.headers['sec-fetch-dest'];
  const asked = parseReplayPath(request.url ?? '');
  if (uiOrigin === undefined || asked.kind !== 'capture') return NONE;
  if (destination !== undefined && destination !== 'iframe') return NONE;
  const message = { wb_type: 'load', url: asked.url, ts: formatTimestamp(asked.time), title };
  const news = JSON.stringify(message).replaceAll('<', '\\u003c');
  const script = `if(parent!==self&&parent===top)parent.postMessage(${news},${JSON.stringify(uiOrigin)})`;
  const digest = createHash('sha256').update(script).digest('base64');
  return { element: `<script>${script}</script>`, policy: `; script-src 'sha256-${digest}'` };
}
