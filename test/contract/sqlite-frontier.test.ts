import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openCrawlState } from '../../src/crawl/index.ts';
import { frontierContract } from './frontier.ts';

frontierContract('SQLite', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'pinakes-frontier-'));
  return {
    open: () => openCrawlState({ directory, database: undefined, clock: Date.now }),
    dispose: async () => rmSync(directory, { recursive: true }),
  };
});
