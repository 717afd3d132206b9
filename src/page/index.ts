/**
 * page: reads links, text, language and dates from HTML, style sheets, scripts, feeds, web application manifests,
 * sitemaps, PDF and office documents. It uses no sockets and no files. Its state consists of loaded tables.
 */
export { decodeText, sniffCharset } from './charset.ts';
export { CharsetEncoder } from './charset-encoder.ts';
export { mayBeUtf8 } from './charset-guess.ts';
export { isAppManifest, linksOfManifest } from './feeds/app-manifest.ts';
export { readSitemap } from './feeds/sitemap.ts';
export { linksOfHeaders, redirectOf } from './html/header-links.ts';
export { isScriptMime, linksOfScript } from './html/module-links.ts';
export { type Link, LinkBase, type LinkKind } from './link.ts';
export { DOCUMENT_BYTES_MAX, isPageMime, PAGE_BYTES_MAX, type Page, pageKind } from './page.ts';
export { documentProcessId, readPage, readPageInBackground } from './page-process.ts';
export { robotsTagDirectives } from './robots-directives.ts';
