/**
 * A script for pages that the server generates and the web interface shows in its frame. It reports the address of the
 * page to the banner around the frame; archived pages report theirs through wombat. Without the script the banner would
 * still name the previous page.
 */
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { formatTimestamp } from '../../base/index.ts';
import { inPageScript, parseReplayPath } from '../../replay/index.ts';

export type FrameReport = {
  /** The script element; empty when the page reports nothing. */
  readonly element: string;
  /** The part that allows the script, to be added to the policy of the page. */
  readonly policy: string;
};

const NONE: FrameReport = { element: '', policy: '' };

/**
 * The report for a capture that a frame requests. For browsers without Sec-Fetch-Dest, the script checks for a frame.
 */
export function frameReport(request: IncomingMessage, title: string, uiOrigin: string | undefined): FrameReport {
  const destination = request.headers['sec-fetch-dest'];
  const asked = parseReplayPath(request.url ?? '');
  if (uiOrigin === undefined || asked.kind !== 'capture') return NONE;
  if (destination !== undefined && destination !== 'iframe') return NONE;
  const message = { wb_type: 'load', url: asked.url, ts: formatTimestamp(asked.time), title };
  const script = inPageScript('frame-report', message, uiOrigin);
  const digest = createHash('sha256').update(script).digest('base64');
  return { element: `<script>${script}</script>`, policy: `; script-src 'sha256-${digest}'` };
}
