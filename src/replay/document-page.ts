/**
 * The page around a PDF document in a frame. Browsers show such documents by a viewer of their own, and some do not
 * start it in a sandbox, which all frames of replay are: the frame would stay empty, or say that the page is blocked.
 * Where the viewer starts it is in the page; else the document can be had as a file.
 */
import { bareMime } from '../base/index.ts';
import type { HttpHead } from '../warc/index.ts';
import { linkTarget, type Memento } from './memento.ts';
import { replayPath } from './replay-path.ts';
import { encodeAttribute } from './rewrite/attribute-text.ts';

/** Whether an answer is such a document, to be shown where it is; one that the server gave to be saved is not. */
export function isViewed(contentType: string, status: number, head: HttpHead | undefined): boolean {
  const disposition = head?.get('content-disposition') ?? 'inline';
  return bareMime(contentType) === 'application/pdf' && status === 200 && /^\s*inline\b/i.test(disposition);
}

/**
 * `head` is what every replayed document gets at the start of its head. The links are for the bytes, whoever follows
 * them.
 */
export function documentPage({ url, time }: Memento, head: string): string {
  const target = encodeAttribute(replayPath(linkTarget(url), time, 'oe_'));
  const name = encodeAttribute(decodedName(url));
  const text = name.slice(1, -1);
  return (
    `<!doctype html><html><head>${head}<title>${text}</title><style>` +
    'html,body{height:100%;margin:0}body{display:flex;flex-direction:column;font:16px/1.5 system-ui,sans-serif;background:#fff;color:#23211d}' +
    'p{margin:0;padding:.6rem 1rem}a{color:#1d5c57}object{flex:1;width:100%;min-height:0}</style></head><body>' +
    `<p>PDF document: <a href=${target} download=${name}>${text}</a></p><object data=${target} type="application/pdf">` +
    '<p>This browser does not show PDF documents within the archive. Download it by the link above.</p></object></body></html>\n'
  );
}

/** The last part of the path, as people would call the file. */
function decodedName(url: string): string {
  const last = URL.parse(url)?.pathname.split('/').at(-1) || 'document.pdf';
  try {
    return decodeURIComponent(last);
  } catch {
    return last;
  }
}
