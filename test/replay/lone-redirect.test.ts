/** A revisit of a redirection does not need its original: its own head is the whole answer (ISO 28500, 6.7.2). */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { utf8 } from '../../src/base/index.ts';
import { type ForeignRecord, foreignId, response, revisitOf, writeForeign } from '../archive/foreign-file.ts';
import { contentOf, NOON } from '../archive/trial-archive.ts';
import { ask, makeServer } from '../server/trial-server.ts';
import { ReplayTrial } from './replay-trial.ts';

/** A revisit whose original was never captured, with this head. */
function lone(url: string, head: readonly string[]): ForeignRecord {
  const original = response('http://lost.example/', NOON - 1000, contentOf('lost'));
  const { record } = revisitOf(original, url, NOON);
  return { record: { ...record, recordId: foreignId() }, block: utf8(`${[...head, '', ''].join('\r\n')}`) };
}

const MOVED = ['HTTP/1.1 301 Moved Permanently', 'Location: /new', 'Content-Type: text/html', 'Content-Encoding: gzip'];

const RECORDS: readonly ForeignRecord[] = [
  lone('http://lone.example/moved', MOVED),
  lone('http://lone.example/nowhere', ['HTTP/1.1 302 Found', 'Content-Type: text/html']),
  lone('http://lone.example/page', ['HTTP/1.1 200 OK', 'Content-Type: text/html']),
  lone('http://lone.example/unchanged', ['HTTP/1.1 304 Not Modified', 'Location: /elsewhere']),
  lone('http://lone.example/itself', ['HTTP/1.1 301 Moved Permanently', 'Location: https://lone.example/itself']),
];

test('a revisit of a redirection whose original is missing is answered from its own head', async (t) => {
  const trial = await ReplayTrial.with(t, []);
  const { archive } = trial;
  const report = await archive.add([await writeForeign(join(archive.directory, 'lone.warc.gz'), RECORDS)]);
  assert.equal(report.unresolved, RECORDS.length);
  const answer = await trial.ask({ url: 'http://lone.example/moved', at: NOON, modifier: 'im_' });
  assert.deepEqual([answer.status, answer.bytes.length], [301, 0]);
  assert.match(answer.field('location') ?? '', /^\/web\/\d{14}im_\/http:\/\/lone\.example\/new$/);
  assert.ok(answer.field('memento-datetime'));
  const raw = await trial.ask({ url: 'http://lone.example/moved', at: NOON, modifier: 'id_' });
  assert.deepEqual([raw.status, raw.bytes.length, raw.field('content-encoding')], [301, 0, undefined]);
  const page = await trial.ask({ url: 'http://lone.example/moved', at: NOON });
  assert.equal(page.status, 301);
  for (const path of ['nowhere', 'page', 'unchanged', 'itself']) {
    const { status } = await trial.ask({ url: `http://lone.example/${path}`, at: NOON, modifier: 'im_' });
    assert.equal(status, 404, path);
  }
});

test('a TimeMap lists a redirection whose original is missing, and its TimeGate leads there', async (t) => {
  const { archive, server } = await makeServer(t);
  await archive.add([await writeForeign(join(archive.directory, 'lone.warc.gz'), RECORDS)]);
  const map = await ask(server.uiAddress, '/web/timemap/link/http://lone.example/moved');
  assert.match(map.text, /rel="first last memento"|rel="memento/);
  const gate = await ask(server.uiAddress, '/web/http://lone.example/moved');
  assert.equal(gate.status, 302);
  assert.match(gate.headers.location ?? '', /\/web\/20\d{12}(mp_)?\/http:\/\/lone\.example\/moved$/);
  assert.equal((await ask(server.uiAddress, '/web/timemap/link/http://lone.example/page')).status, 404);
});
