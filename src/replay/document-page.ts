/**
 * The page around a PDF document in a frame. Browsers show PDF documents in a viewer of their own. Some browsers do not
 * start the viewer in a sandbox, such as a frame of replay: the frame would stay empty, or say that the page is
 * blocked. This page shows the viewer where it starts, and elsewhere a link to download the document.
 */
import { bareMime } from '../base/index.ts';
import type { HttpHead } from '../warc/index.ts';
import { linkTarget, type Memento } from './memento.ts';
import { replayPath } from './replay-path.ts';
import { encodeAttribute } from './rewrite/attribute-text.ts';

/**
 * Whether an answer is a PDF document to be shown in place. False for a document that the server sent as a download.
 */
export function isViewed(contentType: string, status: number, head: HttpHead | undefined): boolean {
  const disposition = head?.get('content-disposition') ?? 'inline';
  return bareMime(contentType) === 'application/pdf' && status === 200 && /^\s*inline\b/i.test(disposition);
}

/** `head` is the text at the start of the head of every replayed document. The links always lead to the bytes. */
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

/** The last part of the path, decoded: the name of the file. */
function decodedName(url: string): string {
  const last = URL.parse(url)?.pathname.split('/').at(-1) || 'document.pdf';
  try {
    return decodeURIComponent(last);
  } catch {
    return last;
  }
}
