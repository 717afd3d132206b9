/** `npm run bench -- NAME`: runs one bench, or lists them. */
import { benchScan } from './scan.ts';

const BENCHES: Record<string, (argv: readonly string[]) => Promise<void>> = {
  scan: benchScan,
};

const [name = '', ...rest] = process.argv.slice(2);
const bench = BENCHES[name];
if (bench) {
  await bench(rest);
} else {
  process.stdout.write(`benches: ${Object.keys(BENCHES).join(', ')}\nrun one with: npm run bench -- NAME\n`);
  process.exitCode = name === '' ? 0 : 2;
}
