import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { FRAME_BYTES_MAX, type Frame, formatFrame, readFrames } from './frame.ts';

async function* cut(bytes: Uint8Array, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  let at = 0;
  for (let turn = 0; at < bytes.length; turn++) {
    const size = sizes[turn % sizes.length]!;
    yield bytes.subarray(at, at + size);
    at += size;
  }
}

async function framesOf(stream: AsyncIterable<Uint8Array>): Promise<Frame[]> {
  const frames: Frame[] = [];
  for await (const { kind, bytes } of readFrames(stream)) frames.push({ kind, bytes: Buffer.from(bytes) });
  return frames;
}

test('frames are read as they were written, however the stream is cut', async () => {
  const frame = fc.record({ kind: fc.constantFrom('O', 'E', 'X', 'H'), bytes: fc.uint8Array({ maxLength: 300 }) });
  const sizes = fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1 });
  await fc.assert(
    fc.asyncProperty(fc.array(frame), sizes, async (frames, pieces) => {
      const stream = Buffer.concat(frames.map(({ kind, bytes }) => formatFrame(kind, bytes)));
      const expected = frames.map(({ kind, bytes }) => ({ kind, bytes: Buffer.from(bytes) }));
      assert.deepEqual(await framesOf(cut(stream, pieces)), expected);
    }),
    { verbose: true },
  );
});

test('a frame that is too long or unfinished is refused, whatever precedes it', async () => {
  const good = formatFrame('O', 'fine');
  const long = Buffer.from([0x4f, 0xff, 0xff, 0xff, 0xff]);
  const atLimit = formatFrame('O', Buffer.alloc(FRAME_BYTES_MAX));
  await assert.rejects(framesOf(cut(Buffer.concat([good, long]), [3])), RangeError);
  await assert.rejects(framesOf(cut(good.subarray(0, -1), [100])), RangeError);
  assert.equal((await framesOf(cut(atLimit, [65_536]))).length, 1);
});
