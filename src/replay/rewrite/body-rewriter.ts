/**
 * Rewrites the body of an answer: decodes its charset, passes it to the rewriter of its kind, and encodes it as UTF-8.
 */
import { fromLatin1, utf8 } from '../../base/index.ts';
import { decodeText, sniffCharset } from '../../page/index.ts';
import type { Body } from '../payload-body.ts';
import type { ContentKind } from './content-kind.ts';
import { rewriteCss } from './css-rewriter.ts';
import { HtmlRewriter } from './html-rewriter.ts';
import type { LinkRewriter } from './link-rewriter.ts';
import { rewriteDash, rewriteHls } from './playlist-rewriter.ts';
import { rewriteScript, workerPrelude } from './script-rewriter.ts';
import { type TextRewriter, WholeText } from './text-rewriter.ts';
import { rewriteManifest } from './url-json.ts';

type RewrittenKind = Exclude<ContentKind, 'bytes'>;

export type BodyRewriterOptions = {
  readonly kind: RewrittenKind;
  readonly contentType: string | undefined;
  /** The charset to use if the answer declares none. */
  readonly pageCharset: string | undefined;
  /** Called when the charset is known, because the queries of links depend on it. */
  readonly linksFor: (charset: string) => LinkRewriter;
  /** The markup at the start of a document's head. */
  readonly head: string;
  readonly replayOrigin: string;
  /** Called with a script before it is rewritten. */
  readonly prepareScript: (text: string) => string;
};

const MIMES: Readonly<Record<RewrittenKind, string>> = {
  html: 'text/html',
  xhtml: 'application/xhtml+xml',
  svg: 'image/svg+xml',
  css: 'text/css',
  script: 'text/javascript',
  module: 'text/javascript',
  worker: 'text/javascript',
  'module-worker': 'text/javascript',
  'worker-import': 'text/javascript',
  manifest: 'application/manifest+json',
  hls: 'application/vnd.apple.mpegurl',
  dash: 'application/dash+xml',
};

/** The Content-Type of a rewritten body. */
export function rewrittenType(kind: RewrittenKind): string {
  return `${MIMES[kind]}; charset=utf-8`;
}

export class BodyRewriter {
  readonly #options: BodyRewriterOptions;

  constructor(options: BodyRewriterOptions) {
    this.#options = options;
  }

  /** Returns a whole body for a whole body, and pieces for pieces. `start` has the first bytes of the body. */
  rewrite(body: Body, start: Uint8Array): Body {
    const declared = this.#declaredType(start);
    if (!(body instanceof Uint8Array)) return this.#rewritePieces(body, sniffCharset(start, declared));
    const { text, charset } = decodeText(body, declared);
    const rewriter = this.#textRewriter(charset);
    const first = rewriter.write(text);
    const rest = rewriter.end();
    return utf8(rest === '' ? first : first + rest);
  }

  async *#rewritePieces(body: AsyncIterable<Uint8Array>, charset: string): AsyncGenerator<Uint8Array> {
    const decoder = new TextDecoder(charset);
    const rewriter = this.#textRewriter(charset);
    for await (const piece of body) {
      const text = rewriter.write(decoder.decode(piece, { stream: true }));
      if (text !== '') yield utf8(text);
    }
    const rest = rewriter.write(decoder.decode()) + rewriter.end();
    if (rest !== '') yield utf8(rest);
  }

  /** A style sheet may declare its charset itself. */
  #declaredType(start: Uint8Array): string | undefined {
    const { kind, contentType, pageCharset } = this.#options;
    if (/charset\s*=/i.test(contentType ?? '')) return contentType;
    const head = kind === 'css' ? fromLatin1(start, 0, Math.min(start.length, 64)) : '';
    const charset = /^@charset "([^"]{1,40})";/.exec(head)?.[1] ?? pageCharset;
    return charset === undefined ? contentType : `${contentType ?? MIMES[kind]}; charset=${charset}`;
  }

  #textRewriter(charset: string): TextRewriter {
    const { kind, linksFor, head, replayOrigin, prepareScript } = this.#options;
    const links = linksFor(charset);
    switch (kind) {
      case 'html':
        return new HtmlRewriter({ links, head });
      case 'xhtml':
        return new HtmlRewriter({ links, head, isXml: true });
      case 'svg':
        return new HtmlRewriter({ links, head: '', isXml: true });
      case 'css':
        return new WholeText((text) => rewriteCss(text, links));
      case 'script':
        return new WholeText((text) => rewriteScript(prepareScript(text), 'classic', links));
      case 'module':
        return new WholeText((text) => rewriteScript(text, 'module', links));
      case 'worker-import':
        return new WholeText((text) => rewriteScript(text, 'module-worker', links));
      case 'worker':
      case 'module-worker':
        return new WholeText(
          (text) => workerPrelude(kind, replayOrigin, links.stamp, links.base) + rewriteScript(text, kind, links),
        );
      case 'manifest':
        return new WholeText((text) => rewriteManifest(text, links));
      case 'hls':
        return new WholeText((text) => rewriteHls(text, links));
      case 'dash':
        return new WholeText((text) => rewriteDash(text, links));
    }
  }
}
