/**
 * The script by which a page of the server's own, shown in the frame of the web page, reports where the frame is.
 * Archived pages do so through wombat. Without it the banner would go on naming the page that the reader came from.
 */
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { formatTimestamp } from '../../base/index.ts';
import { inPageScript, parseReplayPath } from '../../replay/index.ts';

export type FrameReport = {
  /** The script element; empty where a page reports nothing. */
  readonly element: string;
  /** What it adds to the policy of the page. */
  readonly policy: string;
};

const NONE: FrameReport = { element: '', policy: '' };

/** For a capture that a frame asks for. Some browsers do not say what asks; there the script itself finds out. */
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
