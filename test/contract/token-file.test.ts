import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe } from 'node:test';
import { TokenFile } from '../../src/server/index.ts';
import { tokenStoreContract } from './token-store.ts';

describe('tokens in a file', () => {
  let directory: string;
  before(() => {
    directory = mkdtempSync(join(tmpdir(), 'pinakes-tokens-'));
  });
  after(() => rmSync(directory, { recursive: true }));
  tokenStoreContract(() => ({
    hasManyServers: false,
    open: async (name) => {
      mkdirSync(join(directory, name), { recursive: true });
      return new TokenFile(join(directory, name));
    },
  }));
});
