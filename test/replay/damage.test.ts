/** Replay of a damaged record. A client can tell that the answer is damaged. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { damageUrl } from '../archive/damage-sample.ts';
import { contentOf } from '../archive/trial-archive.ts';
import { type SiteFile, SPRING, storeSite } from '../browser/sample-site.ts';
import { ask, makeServer } from '../server/trial-server.ts';

const PAGE: SiteFile = { url: 'https://site.example/', body: Buffer.from(contentOf('a page')) };
const IMAGE: SiteFile = { url: 'https://site.example/a.png', type: 'image/png', body: Buffer.from(contentOf('image')) };
const FILM: SiteFile = {
  url: 'https://site.example/a.mp4',
  type: 'video/mp4',
  body: Buffer.from(contentOf('a film', 3_000_000)),
};
const path = (modifier: string, url: string) => `/web/20200401100000${modifier}/${url}`;

test('a damaged page or image is answered with an error that says so, and reported to the operator', async (t) => {
  const { archive, server, failures } = await makeServer(t);
  await storeSite(archive, [PAGE, IMAGE, { ...PAGE, url: 'https://site.example/sound' }], SPRING);
  const at = await damageUrl(archive, PAGE.url, 'sum');
  await damageUrl(archive, IMAGE.url, 'sum');
  for (const [modifier, url] of [
    ['mp_', PAGE.url],
    ['id_', PAGE.url],
    ['im_', IMAGE.url],
  ] as const) {
    const reply = await ask(server.replayAddress, path(modifier, url), { headers: { accept: 'text/html' } });
    assert.equal(reply.status, 502, url);
    assert.match(reply.text, /<h1>The stored copy of this is damaged/);
    assert.match(reply.text, /pinakes verify/);
    assert.equal(reply.headers['cache-control'], 'no-store');
  }
  assert.deepEqual(
    failures.map((error) => (error as { code?: string }).code),
    Array(3).fill('RECORD_DAMAGED'),
  );
  assert.ok(String(failures[0]).includes(`${at.segment}:${at.offset}`));
});

test('damage that is found after bytes were sent breaks the connection', async (t) => {
  const { archive, server, failures } = await makeServer(t);
  await storeSite(archive, [FILM], SPRING);
  const sound = await ask(server.replayAddress, path('oe_', FILM.url));
  assert.deepEqual([sound.status, sound.body.length], [200, 3_000_000]);
  await damageUrl(archive, FILM.url, 'sum');
  await assert.rejects(ask(server.replayAddress, path('oe_', FILM.url)), /aborted|hang up|reset/i);
  assert.deepEqual(
    failures.map((error) => (error as { code?: string }).code),
    ['RECORD_DAMAGED'],
  );
});
