import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LinkEnd } from '../../api/replies.ts';
import { rowsByPage } from './link-rows.ts';

function link(url: string, text: string, first: string, last = first): LinkEnd {
  return { url, kind: 'anchor', text, isNofollow: false, isEmbed: false, first, last, isKnown: true };
}

test('a linking page is one row, however many versions and links it has', () => {
  const rows = rowsByPage([
    link('http://a.test/', 'Home', '2020-01-01T00:00:00Z'),
    link('http://b.test/', 'See also', '2020-02-01T00:00:00Z'),
    link('http://a.test/', 'Home', '2022-01-01T00:00:00Z', '2023-01-01T00:00:00Z'),
    link('http://a.test/', 'Start', '2019-01-01T00:00:00Z'),
  ]);
  assert.deepEqual(
    rows.map(({ url, first, last, links }) => [
      url,
      first.slice(0, 4),
      last.slice(0, 4),
      links.map(({ text }) => text),
    ]),
    [
      ['http://a.test/', '2019', '2023', ['Home', 'Start']],
      ['http://b.test/', '2020', '2020', ['See also']],
    ],
  );
});
