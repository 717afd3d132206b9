import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom, utf8 } from '../base/index.ts';
import { MemberEncoder } from './member-encoder.ts';
import { MemberThreads } from './member-threads.ts';

test('members made on a thread are those of an encoder that gets each record in one piece, in order', async (t) => {
  const threads = new MemberThreads();
  t.after(() => threads.close());
  const random = seededRandom(7);
  const encoders = new Map([0, 6].map((level) => [level, new MemberEncoder({ coding: 'gzip', level })]));
  for (const count of [1, 40]) {
    const records = Array.from({ length: count }, (_, index) => ({
      parts: [utf8(`head ${index}\r\n`), utf8('scroll '.repeat(Math.floor(random() * 40_000))), utf8('\r\n\r\n')],
      level: index % 5 === 0 ? 0 : 6,
    }));
    const expected = records.map(({ parts, level }) => encoders.get(level)!.encode([Buffer.concat(parts)]));
    const members = await threads.encode(records);
    assert.equal(members.length, count);
    for (const [index, member] of members.entries())
      assert.equal(Buffer.compare(member, expected[index]!), 0, `member ${index} of ${count}`);
  }
  assert.deepEqual(await threads.encode([]), []);
});
