import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createArchive, openArchive } from '../../archive/index.ts';
import { Indexer } from '../../search/index.ts';
import type { CommandContext } from '../command.ts';
import { Terminal } from '../terminal.ts';
import { watchedRank } from './rank.ts';

test('an interrupt stops the ranking, and the index can be ranked later', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'pinakes-rank-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  await createArchive(join(directory, 'archive'));
  const newId = () => '<urn:uuid:00000000-0000-4000-8000-000000000000>';
  const archive = await openArchive(join(directory, 'archive'), { clock: () => 0, newId });
  t.after(() => archive.close());
  const context = (signal: AbortSignal) => ({ terminal: new Terminal(), signal }) as unknown as CommandContext;
  const interrupt = new AbortController();
  const indexer = await Indexer.open(archive);
  const ranking = watchedRank(context(interrupt.signal), indexer);
  interrupt.abort();
  await assert.rejects(ranking, { name: 'AbortError' });
  await indexer.close();
  const later = await Indexer.open(archive);
  t.after(() => later.close());
  assert.equal((await watchedRank(context(new AbortController().signal), later)).urls, 0);
});
