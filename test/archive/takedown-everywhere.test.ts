import { test } from 'node:test';
import { takeDownEverywhere } from './takedown-everywhere.ts';
import { temporaryDirectory } from './trial-archive.ts';

test('D3, I6 a takedown beside running stores and a dead writer leaves no bytes in archive and mirror, and none come back', async (t) => {
  const figures = await takeDownEverywhere(await temporaryDirectory(t), 20, 30_000);
  t.diagnostic(JSON.stringify(figures));
});
