/** `npm run bench -- NAME`: runs one bench; without a name lists all benches. */
import { enableCompileCache } from 'node:module';
import { benchArchive } from './archive.ts';
import { benchCatalog } from './catalog.ts';
import { benchCluster } from './cluster.ts';
import { benchCompare } from './compare.ts';
import { benchCrawl } from './crawl.ts';
import { benchDuplicates } from './duplicates.ts';
import { benchPaging } from './paging.ts';
import { benchReplay } from './replay.ts';
import { benchS3 } from './s3.ts';
import { benchS3Store } from './s3-store.ts';
import { benchScan } from './scan.ts';
import { benchSearch } from './search.ts';
import { benchServe } from './serve.ts';
import { benchSlim } from './slim.ts';
import { benchStream } from './stream.ts';
import { benchVerifyBeside } from './verify-beside.ts';

const BENCHES: Record<string, (argv: readonly string[]) => Promise<void>> = {
  archive: benchArchive,
  catalog: benchCatalog,
  cluster: benchCluster,
  compare: benchCompare,
  crawl: benchCrawl,
  duplicates: benchDuplicates,
  paging: benchPaging,
  replay: benchReplay,
  s3: benchS3,
  's3-store': benchS3Store,
  scan: benchScan,
  search: benchSearch,
  serve: benchServe,
  slim: benchSlim,
  stream: benchStream,
  'verify-beside': benchVerifyBeside,
};

// Uses the compile cache as the launcher does, so that compiling the program is not measured.
enableCompileCache();

const [name = '', ...rest] = process.argv.slice(2);
const bench = BENCHES[name];
if (bench) {
  await bench(rest);
} else {
  process.stdout.write(`benches: ${Object.keys(BENCHES).join(', ')}\nrun one with: npm run bench -- NAME\n`);
  process.exitCode = name === '' ? 0 : 2;
}
