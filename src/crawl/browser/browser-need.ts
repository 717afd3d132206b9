/**
 * Decides which pages are rendered: all HTML pages, or those whose HTML is the shell of an application that scripts
 * fill.
 */
import { readPage } from '../../page/index.ts';
import type { StoredResponse } from '../crawl-captures.ts';
import { isPageRole } from '../frontier/known-url.ts';
import { responseMime } from '../links/page-links.ts';
import type { Visited } from '../outcome.ts';
import type { BrowserUse } from '../settings.ts';

/** A page with scripts and fewer characters of text than this counts as a shell. */
const SHELL_TEXT_LENGTH_MAX = 200;

const HTML_MIMES = new Set(['text/html', 'application/xhtml+xml']);

/** Whether a page must be rendered. `open` reads its capture. */
export async function needsBrowser(
  use: BrowserUse,
  { settlement, mime, redirect, capture }: Visited,
  open: () => Promise<StoredResponse | undefined>,
): Promise<boolean> {
  const { item, status } = settlement;
  if (use === 'none' || !isPageRole(item.role) || status !== 200 || redirect !== undefined || !capture.block)
    return false;
  // An empty type does not decide: a 304 may have no Content-Type.
  if (mime !== '' && !HTML_MIMES.has(mime)) return false;
  if (mime !== '' && use === 'all') return true;
  const source = await open();
  if (!source || !isHtml(source)) return false;
  return use === 'all' || isShell(source, item.url);
}

function isHtml({ head }: StoredResponse): boolean {
  return HTML_MIMES.has(responseMime(head));
}

async function isShell({ head, content: { bytes } }: StoredResponse, url: string): Promise<boolean> {
  const markup = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
  if (!/<script[\s>]/i.test(markup)) return false;
  const contentType = head.get('content-type') ?? '';
  const page = await readPage({ bytes, mime: 'text/html', contentType, url }, { links: false });
  return (page?.text.replace(/\s+/g, ' ').trim().length ?? 0) < SHELL_TEXT_LENGTH_MAX;
}
