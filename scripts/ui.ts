/**
 * Builds the UI from ui/ into a directory of static files: index.html, and under assets/ scripts, styles and pictures.
 * Their names contain a hash of their bytes, so that browsers can cache them for ever.
 *
 *     node scripts/ui.ts [DIRECTORY]
 *
 * Without a directory the files go to build/ui/. The licences of the bundled packages are in assets/licences.txt.
 */
import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build, type Metafile, type OutputFile, type Plugin } from 'esbuild';

const ROOT = resolve(import.meta.dirname, '..');
const UI = join(ROOT, 'ui');

const UI_DIRECTORY: string = join(ROOT, 'build/ui');

/**
 * The drawing library reads the language of the browser when it is loaded, and fails on non-standard names, such as
 * that of the POSIX locale.
 */
const ENGLISH_NUMBERS: Plugin = {
  name: 'english-numbers',
  setup({ onLoad }) {
    onLoad({ filter: /uPlot\.esm\.js$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8');
      if (!text.includes('nav.language'))
        throw new Error(`${path} no longer asks for the language; nothing to replace`);
      return { contents: text.replace('nav.language', "'en'"), loader: 'js' };
    });
  },
};

/**
 * The compressed size of the files that a browser fetches before it shows the first screen: page, scripts and
 * styles.
 */
export type UiReport = { readonly directory: string; readonly firstBytes: number; readonly allBytes: number };

/** Builds into a directory, and replaces its content in one step. */
export async function buildUi(directory: string = UI_DIRECTORY): Promise<UiReport> {
  mkdirSync(dirname(directory), { recursive: true });
  const staged = mkdtempSync(`${directory}-`);
  try {
    const report = await buildInto(staged);
    chmodSync(staged, 0o755);
    rmSync(directory, { recursive: true, force: true });
    renameSync(staged, directory);
    return { ...report, directory };
  } finally {
    rmSync(staged, { recursive: true, force: true });
  }
}

async function buildInto(staged: string): Promise<Omit<UiReport, 'directory'>> {
  const worker = await bundle({ worker: 'diff-worker.ts' }, {});
  const theme = await bundle({ theme: 'theme-start.ts' }, {});
  const workerPath = scriptOf(worker.files, 'worker');
  const main = await bundle({ main: 'main.tsx' }, { DIFF_WORKER_PATH: JSON.stringify(workerPath) });
  const files = new Map<string, Uint8Array>();
  for (const { path, contents } of [...worker.files, ...theme.files, ...main.files]) {
    files.set(relative(UI, path), contents);
  }
  const icon = readFileSync(join(UI, 'icon.svg'));
  const iconPath = `assets/icon-${createHash('sha256').update(icon).digest('hex').slice(0, 8)}.svg`;
  files.set(iconPath, icon);
  files.set('assets/licences.txt', Buffer.from(licencesOf([worker.metafile, main.metafile])));
  const style = [...files.keys()].find((path) => /^assets\/main-\w+\.css$/.test(path))!;
  const first = [style, scriptOf(theme.files, 'theme').slice(1), scriptOf(main.files, 'main').slice(1)];
  const html = readFileSync(join(UI, 'index.html'), 'utf8')
    .replace('{{style}}', `/${style}`)
    .replace('{{theme}}', `/${first[1]}`)
    .replace('{{main}}', `/${first[2]}`)
    .replace('{{icon}}', `/${iconPath}`);
  files.set('index.html', Buffer.from(html));
  for (const [path, bytes] of files) {
    mkdirSync(dirname(join(staged, path)), { recursive: true });
    writeFileSync(join(staged, path), bytes);
  }
  const compressed = (path: string) => gzipSync(files.get(path)!).length;
  const shipped = [...files.keys()].filter((path) => !/\.(?:map|txt)$/.test(path));
  const chunks = chunksOf(main.metafile, first[2]!);
  return {
    firstBytes: ['index.html', ...first, ...chunks].reduce((sum, path) => sum + compressed(path), 0),
    allBytes: shipped.reduce((sum, path) => sum + compressed(path), 0),
  };
}

async function bundle(
  entryPoints: Record<string, string>,
  define: Record<string, string>,
): Promise<{ files: OutputFile[]; metafile: Metafile }> {
  const { outputFiles, metafile } = await build({
    absWorkingDir: UI,
    entryPoints,
    outdir: UI,
    entryNames: 'assets/[name]-[hash]',
    chunkNames: 'assets/[name]-[hash]',
    assetNames: 'assets/[name]-[hash]',
    bundle: true,
    define,
    format: 'esm',
    splitting: true,
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'none',
    logLevel: 'warning',
    metafile: true,
    plugins: [ENGLISH_NUMBERS],
    minify: true,
    sourcemap: 'linked',
    target: ['es2022', 'chrome123', 'firefox121', 'safari17.5'],
    write: false,
  });
  return { files: outputFiles, metafile };
}

/** The path, as the page names it, of the script built from an entry. */
function scriptOf(files: readonly OutputFile[], name: string): string {
  const file = files.find(({ path }) => new RegExp(`/${name}-\\w+\\.js$`).test(path));
  if (!file) throw new Error(`no script was made of ${name}`);
  return `/${relative(UI, file.path)}`;
}

/** The scripts that must be loaded before a script can run. */
function chunksOf({ outputs }: Metafile, script: string): string[] {
  const imports = outputs[script]?.imports ?? [];
  return imports.filter(({ kind }) => kind === 'import-statement').map(({ path }) => path);
}

/** The licences of all packages that are part of a build. */
function licencesOf(metafiles: readonly Metafile[]): string {
  const packages = new Set<string>();
  for (const path of metafiles.flatMap(({ inputs }) => Object.keys(inputs))) {
    const name = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1];
    if (name) packages.add(name);
  }
  return [...packages]
    .sort()
    .map((name) => {
      const directory = join(ROOT, 'node_modules', name);
      const { version } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as { version: string };
      return `${name} ${version}\n\n${readFileSync(join(directory, 'LICENSE'), 'utf8').trim()}\n`;
    })
    .join(`\n${'-'.repeat(80)}\n\n`);
}

if (import.meta.main) {
  try {
    const { directory, firstBytes, allBytes } = await buildUi(process.argv[2] ? resolve(process.argv[2]) : undefined);
    const kilobytes = (bytes: number) => `${(bytes / 1000).toFixed(1)} KB`;
    const sizes = `${kilobytes(firstBytes)} compressed for the first screen, ${kilobytes(allBytes)} in all`;
    console.log(`${relative(ROOT, directory)}: ${sizes}`);
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}
