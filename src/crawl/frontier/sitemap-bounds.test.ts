import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SitemapBounds } from './sitemap-bounds.ts';

test('after BARREN_MAX sitemaps without a page, the other sitemaps of the domain are not read', () => {
  const bounds = new SitemapBounds();
  const visit = (count: number, hasPages: boolean) => {
    for (let at = 0; at < count; at++) bounds.countVisited(`http://h${at}.site.test/${at}.xml`, hasPages);
  };
  visit(499, false);
  visit(1, true);
  visit(499, false);
  assert.ok(!bounds.isBarren('http://site.test/'));
  visit(1, false);
  assert.ok(bounds.isBarren('http://site.test/') && bounds.isReached('http://site.test/'));
  assert.ok(!bounds.isReached('http://other.test/'));
});

test('a site has at most SITEMAPS_MAX sitemaps, even if they name pages', () => {
  const bounds = new SitemapBounds();
  for (let at = 0; at < 50_000; at++) {
    assert.ok(!bounds.isReached('http://site.test/'));
    bounds.countQueued(`http://site.test/${at}.xml`);
    bounds.countVisited(`http://site.test/${at}.xml`, true);
  }
  assert.ok(bounds.isReached('http://site.test/') && !bounds.isBarren('http://site.test/'));
});
