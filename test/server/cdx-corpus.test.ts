/**
 * Compares the index lines of files of the hand-over corpus, linked in place, with the indexes that other tools made of
 * them. All fields must be equal except the digest and the name of the segment.
 */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { ask, makeServer } from './trial-server.ts';

const CORPORA = fileURLToPath(new URL('../../../shared/corpora/', import.meta.url));
const skip = !existsSync(CORPORA) && 'the hand-over corpus is absent';

/** A line without the digest and the name of the segment. */
function comparable(line: string, file: string): string {
  return line.replace(/"digest": "[^"]*"/, '"digest": "X"').replaceAll(file, 'FILE');
}

test('the example files of the formats have the index lines that the format documents show', { skip }, async (t) => {
  const { archive, server } = await makeServer(t);
  await archive.add([`${CORPORA}formats-examples/demo.warc.gz`], { inPlace: true });
  const file = basename((await archive.segments())[0]!.name);
  const expected = (await readFile(`${CORPORA}formats-examples/index.cdxj`, 'utf8')).trimEnd().split('\n');
  const reply = await ask(server.uiAddress, '/cdx/pywb?url=*.example.test');
  assert.deepEqual(
    reply.text
      .trimEnd()
      .split('\n')
      .map((line) => comparable(line, file)),
    expected.map((line) => comparable(line, 'demo.warc.gz')),
  );
});

test('a JSON reply has the same form as recorded replies of the Internet Archive', { skip }, async (t) => {
  const recorded = `${CORPORA}cdx-server/cocrawler+cdx_toolkit/data__mock_responses__test_cli__test_multi_ia.jsonl`;
  const theirs = (JSON.parse((await readFile(recorded, 'utf8')).split('\n')[0]!) as { response_text: string })
    .response_text;
  const { archive, server } = await makeServer(t);
  await archive.add([`${CORPORA}formats-examples/demo.warc.gz`], { inPlace: true });
  const ours = (await ask(server.uiAddress, '/cdx?url=*.example.test&output=json')).text;
  const [header] = theirs.split('\n');
  assert.equal(ours.split('\n')[0], header);
  const line = /^\["[^"]+","\d{14}","[^"]+","[^"]+","\d{3}","[^"]+","\d+"\]/;
  for (const [index, text] of [theirs, ours].entries()) {
    const lines = text.split('\n');
    assert.match(lines.at(-2)!, /\]\]$/, `${index}`);
    assert.equal(lines.at(-1), '');
    for (const row of lines.slice(1, -1)) assert.match(row, line);
  }
});
