/** The answer for a URL of which the archive has nothing to show: what it has near that, as a page or as JSON. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { formatTimestamp } from '../../base/index.ts';
import type { Capture } from '../../catalog/index.ts';
import { linkTarget, type Replayer } from '../../replay/index.ts';
import { type FrameReport, frameReport } from '../http/frame-report.ts';
import { accepts, escapeHtml, isFramed, PLAIN_PAGE_FIELDS, pagePolicy, plainPage, waysOn } from '../http/problem.ts';
import { endReply } from '../http/reply-end.ts';

export type MissingCapture = {
  readonly url: string;
  readonly uiOrigin: string;
  /** The origin that shows the alternatives, and the modifier it does it with. */
  readonly base: string;
  readonly modifier: string;
  readonly fields?: Readonly<Record<string, string>>;
};

const MESSAGE = 'The archive has no capture of this page';

export async function sendMissing(
  replayer: Replayer,
  request: IncomingMessage,
  response: ServerResponse,
  missing: MissingCapture,
): Promise<void> {
  const { nearby, unshown } = await replayer.alternatives(missing.url);
  const asHtml = accepts(request.headers.accept, 'text/html');
  const onward = isFramed(request) ? undefined : missing.uiOrigin;
  const report = frameReport(request, MESSAGE, missing.uiOrigin);
  const text = asHtml ? pageText(missing, nearby, unshown, onward, report) : jsonText(missing, nearby);
  const body = Buffer.from(text);
  response.writeHead(404, {
    ...PLAIN_PAGE_FIELDS,
    'content-security-policy': `${pagePolicy(onward)}${report.policy}; frame-ancestors 'self' ${missing.uiOrigin}`,
    ...missing.fields,
    'content-type': asHtml ? 'text/html; charset=utf-8' : 'application/json; charset=utf-8',
    'content-length': body.length,
  });
  endReply(response, body);
}

function addressOf({ base, modifier }: MissingCapture, capture: Capture): string {
  return `${base}/web/${formatTimestamp(capture.time)}${modifier}/${linkTarget(capture.url)}`;
}

function jsonText(missing: MissingCapture, nearby: readonly Capture[]): string {
  const advice = nearby.length > 0 ? 'The archive has these pages near it.' : 'It has nothing near that either.';
  const error = { code: 'CAPTURE_MISSING', message: MESSAGE.toLowerCase(), advice, where: missing.url };
  const alternatives = nearby.map((capture) => ({
    url: capture.url,
    timestamp: formatTimestamp(capture.time),
    address: addressOf(missing, capture),
  }));
  return `${JSON.stringify({ error, alternatives })}\n`;
}

function pageText(
  missing: MissingCapture,
  nearby: readonly Capture[],
  unshown: readonly Capture[],
  home: string | undefined,
  report: FrameReport,
): string {
  const items = nearby.map((capture) => {
    return `<li><a href="${escapeHtml(addressOf(missing, capture))}">${escapeHtml(capture.url)}</a></li>`;
  });
  const parts = [
    `<p class="where"><code>${escapeHtml(missing.url)}</code></p>`,
    unshown.length > 0
      ? '<p>It knows of visits to it, but holds no content of them that could be shown.</p>'
      : '<p>It may never have been captured, or been captured under another address.</p>',
    items.length > 0
      ? `<p>Pages near it that are here:</p>\n<ul>${items.join('\n')}</ul>`
      : '<p>Nothing else of that site is here either.</p>',
    ...(home === undefined ? [] : [waysOn(home, linksOf(missing, nearby.length > 0, unshown.length > 0))]),
    report.element,
  ];
  return plainPage(MESSAGE, parts.join('\n'));
}

/** To what there is of the address and its site. */
function linksOf({ url, uiOrigin }: MissingCapture, hasNearby: boolean, hasUnshown: boolean): string[] {
  const listed = (target: string) => escapeHtml(`${uiOrigin}/web/*/${linkTarget(target)}`);
  const host = URL.parse(url)?.host;
  return [
    ...(hasUnshown ? [`<a href="${listed(url)}">All captures of it</a>`] : []),
    ...(hasNearby && host ? [`<a href="${listed(`http://${host}/*`)}">All of ${escapeHtml(host)}</a>`] : []),
  ];
}
