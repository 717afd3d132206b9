/** The reply for a URL without captures to show. It lists nearby pages that the archive has, as HTML or JSON. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { formatTimestamp } from '../../base/index.ts';
import type { Capture } from '../../catalog/index.ts';
import { linkTarget, type Replayer } from '../../replay/index.ts';
import { type FrameReport, frameReport } from '../http/frame-report.ts';
import {
  accepts,
  escapeHtml,
  isFramed,
  navigation,
  PLAIN_PAGE_FIELDS,
  pagePolicy,
  plainPage,
} from '../http/problem.ts';
import { endReply } from '../http/reply-end.ts';

export type MissingCapture = {
  readonly url: string;
  readonly uiOrigin: string;
  /** The origin and the modifier of links to the nearby pages. */
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
  const text = asHtml ? missingPage(missing, nearby, unshown, onward, report) : missingJson(missing, nearby);
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

function captureAddress({ base, modifier }: MissingCapture, capture: Capture): string {
  return `${base}/web/${formatTimestamp(capture.time)}${modifier}/${linkTarget(capture.url)}`;
}

function missingJson(missing: MissingCapture, nearby: readonly Capture[]): string {
  const advice =
    nearby.length > 0 ? 'The archive has these pages of the same site.' : 'The archive has no other pages of the site.';
  const error = { code: 'CAPTURE_MISSING', message: MESSAGE.toLowerCase(), advice, where: missing.url };
  const alternatives = nearby.map((capture) => ({
    url: capture.url,
    timestamp: formatTimestamp(capture.time),
    address: captureAddress(missing, capture),
  }));
  return `${JSON.stringify({ error, alternatives })}\n`;
}

function missingPage(
  missing: MissingCapture,
  nearby: readonly Capture[],
  unshown: readonly Capture[],
  home: string | undefined,
  report: FrameReport,
): string {
  const items = nearby.map((capture) => {
    return `<li><a href="${escapeHtml(captureAddress(missing, capture))}">${escapeHtml(capture.url)}</a></li>`;
  });
  const parts = [
    `<p class="where"><code>${escapeHtml(missing.url)}</code></p>`,
    unshown.length > 0
      ? '<p>The archive has records of visits to this page, but no content to show.</p>'
      : '<p>The page may never have been captured, or only under another address.</p>',
    items.length > 0
      ? `<p>Archived pages of the same site:</p>\n<ul>${items.join('\n')}</ul>`
      : '<p>The archive has no other pages of that site.</p>',
    ...(home === undefined ? [] : [navigation(home, linksOf(missing, nearby.length > 0, unshown.length > 0))]),
    report.element,
  ];
  return plainPage(MESSAGE, parts.join('\n'));
}

/** Links to the lists of captures of the URL and of its site. */
function linksOf({ url, uiOrigin }: MissingCapture, hasNearby: boolean, hasUnshown: boolean): string[] {
  const listed = (target: string) => escapeHtml(`${uiOrigin}/web/*/${linkTarget(target)}`);
  const host = URL.parse(url)?.host;
  return [
    ...(hasUnshown ? [`<a href="${listed(url)}">All captures of this page</a>`] : []),
    ...(hasNearby && host ? [`<a href="${listed(`http://${host}/*`)}">All pages of ${escapeHtml(host)}</a>`] : []),
  ];
}
