/** The answer for a URL of which the archive has nothing to show: what it has near that, as a page or as JSON. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { formatTimestamp } from '../base/index.ts';
import type { Capture } from '../catalog/index.ts';
import { linkTarget, type Replayer } from '../replay/index.ts';
import { accepts, escapeHtml, PLAIN_PAGE_FIELDS, plainPage } from './problem.ts';
import { endReply } from './reply-end.ts';

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
  // In a frame the page around it leads on, and nothing inside may lead out of it.
  const isFramed = /^i?frame$/.test(String(request.headers['sec-fetch-dest'] ?? ''));
  const text = asHtml ? pageText(missing, nearby, unshown, isFramed) : jsonText(missing, nearby);
  const body = Buffer.from(text);
  const forms = isFramed ? "'none'" : missing.uiOrigin;
  const policy = `default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action ${forms}; frame-ancestors 'self' ${missing.uiOrigin}`;
  response.writeHead(404, {
    ...PLAIN_PAGE_FIELDS,
    'content-security-policy': policy,
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
  isFramed: boolean,
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
    ...(isFramed ? [] : waysOn(missing, nearby.length > 0, unshown.length > 0)),
  ];
  return plainPage(MESSAGE, parts.join('\n'));
}

/** Where to go from here: the search box, the first page, and what there is of the address and its site. */
function waysOn({ url, uiOrigin }: MissingCapture, hasNearby: boolean, hasUnshown: boolean): string[] {
  const listed = (target: string) => escapeHtml(`${uiOrigin}/web/*/${linkTarget(target)}`);
  const host = URL.parse(url)?.host;
  const links = [
    ...(hasUnshown ? [`<a href="${listed(url)}">All captures of it</a>`] : []),
    ...(hasNearby && host ? [`<a href="${listed(`http://${host}/*`)}">All of ${escapeHtml(host)}</a>`] : []),
    `<a href="${escapeHtml(uiOrigin)}/collections">Collections</a>`,
    `<a href="${escapeHtml(uiOrigin)}/">Start page</a>`,
  ];
  return [
    `<form action="${escapeHtml(uiOrigin)}/search" role="search"><label>Search for <input name="q" type="search"></label> <button>Find</button></form>`,
    `<nav><p>${links.join(' \u00b7 ')}</p></nav>`,
  ];
}
