/** Replies with URLs of many thousand characters: their memory is limited in bytes, not in lines. */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { makeArchive, page } from '../archive/trial-archive.ts';
import { ask, makeServer } from './trial-server.ts';

const START = Date.UTC(2020, 0, 1);
const LONG = 'x'.repeat(30_000);
const COUNT = 300;

/** The sizes of the chunks of a reply. */
function chunkSizes(address: string, target: string): Promise<number[]> {
  const { hostname, port } = new URL(address);
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    const socket = connect(Number(port), hostname, () =>
      socket.write(`GET ${target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`),
    );
    socket.on('data', (piece) => pieces.push(piece));
    socket.on('error', reject);
    socket.on('close', () => {
      const reply = Buffer.concat(pieces);
      const sizes: number[] = [];
      let at = reply.indexOf('\r\n\r\n') + 4;
      while (at < reply.length) {
        const end = reply.indexOf('\r\n', at);
        const size = Number.parseInt(reply.toString('latin1', at, end), 16);
        if (size > 0) sizes.push(size);
        at = end + 2 + size + 2;
      }
      resolve(sizes);
    });
  });
}

test('replies with long URLs are limited by bytes', async (t) => {
  const archive = await makeArchive(t);
  await Promise.all(
    Array.from({ length: COUNT }, (_, index) =>
      archive.store(page(`http://site.test/${index}/${LONG}`, START, Buffer.from(`page ${index}`))),
    ),
  );
  await Promise.all(
    Array.from({ length: COUNT }, (_, index) =>
      archive.store(page(`http://site.test/${LONG}`, START + index * 1000, Buffer.from(`version ${index}`))),
    ),
  );
  const { server, failures } = await makeServer(t, { archive });

  await t.test('CDX lines are sent in chunks before many of them are in memory', async () => {
    const outputs = [
      '/cdx?output=text',
      '/cdx?output=json',
      '/cdx?output=cdxj',
      '/cdx/pywb?output=json',
      '/cdx/outbackcdx?output=jsondict',
    ];
    for (const target of outputs) {
      const sizes = await chunkSizes(server.uiAddress, `${target}&url=site.test/1*&fl=urlkey,original,timestamp`);
      assert.ok(sizes.length > 50, `${target}: ${sizes.length} chunks`);
      assert.ok(Math.max(...sizes) < 200_000, `${target}: ${Math.max(...sizes)} bytes in one chunk`);
    }
  });

  await t.test('a CDX query that sorts is refused when its lines are too long in total', async () => {
    for (const order of ['sort=reverse&collapse=digest', 'sort=closest&closest=2020', 'limit=-10000']) {
      const reply = await ask(server.uiAddress, `/cdx?url=site.test/*&${order}`);
      assert.equal(reply.status, 400, order);
      assert.match(reply.text, /Set a lower limit/);
      assert.equal((await ask(server.uiAddress, `/cdx?url=site.test/*&limit=5&fl=timestamp`)).status, 200);
    }
  });

  await t.test('API pages have fewer items than their limit, and the next pages have the others', async () => {
    const whole = async (path: string): Promise<{ pages: number; items: Record<string, string>[] }> => {
      const items: Record<string, string>[] = [];
      let after: string | undefined = '';
      let pages = 0;
      for (; after !== undefined; pages++) {
        const { status, text } = await ask(server.uiAddress, `${path}&limit=1000${after && `&after=${after}`}`);
        assert.equal(status, 200);
        assert.ok(text.length < 8_000_000, `${text.length} characters`);
        const page = JSON.parse(text) as { items: Record<string, string>[]; next?: string };
        items.push(...page.items);
        after = page.next;
      }
      return { pages, items };
    };
    for (const order of ['asc', 'desc']) {
      const captures = await whole(`/api/captures?url=http://site.test/${LONG}&order=${order}`);
      assert.ok(captures.pages > 1);
      const times = captures.items.map(({ time }) => time!);
      assert.deepEqual([times.length, new Set(times).size], [COUNT, COUNT]);
      assert.deepEqual(order === 'asc' ? times : times.toReversed(), times.toSorted());
      assert.equal(captures.items.filter(({ sameAsPrevious }) => sameAsPrevious).length, 0);
    }
    const urls = await whole('/api/urls?prefix=http://site.test/');
    assert.ok(urls.pages > 1);
    assert.deepEqual([urls.items.length, new Set(urls.items.map(({ urlKey }) => urlKey)).size], [COUNT + 1, COUNT + 1]);
  });

  await t.test('a TimeMap is split into pages, and no memento is lost', async () => {
    const seen: string[] = [];
    let target: string | undefined = `/web/timemap/json/http://site.test/${LONG}`;
    let pages = 0;
    for (; target !== undefined; pages++) {
      const { status, text } = await ask(server.uiAddress, target);
      assert.equal(status, 200);
      assert.ok(text.length < 6_000_000, `${text.length} characters`);
      const map = JSON.parse(text) as { mementos: { list: { datetime: string }[] }; pages?: { next: { uri: string } } };
      seen.push(...map.mementos.list.map(({ datetime }) => datetime));
      target = map.pages && new URL(map.pages.next.uri).pathname;
    }
    assert.ok(pages > 1);
    assert.equal(new Set(seen).size, COUNT);
    assert.equal(seen.length, COUNT);
  });
  assert.deepEqual(failures, []);
});
