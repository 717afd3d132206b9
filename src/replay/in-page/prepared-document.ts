/** Adds the scripts at the start of every replayed page to a document that a script makes from text. */
import type { Wombat } from './wombat.ts';

export function preparedDocument(wombat: Wombat, html: string): string {
  if (html.indexOf('pinakesReplay(') >= 0) return html;
  const info = wombat.wb_info;
  const head = [
    `<script src="${info.static_prefix}wombat.js"></script>`,
    `<script src="${info.static_prefix}pinakes-replay.js"></script>`,
    `<script>pinakesReplay(${JSON.stringify(info).replace(/</g, '\\u003c')})</script>`,
  ];
  return (wombat.rewriteHtml(html) || '').replace(
    /^(?:\s*<!--[\s\S]*?-->)*\s*<!doctype[^>]*>|^/i,
    (start) => start + head.join(''),
  );
}
