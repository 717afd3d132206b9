/**
 * The scripts of in-page/ as text. A program that runs from its sources bundles them when the first one is needed. The
 * published package has the bundles beside the code, made by scripts/build.ts. So no bundle is older than its sources.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { fileError, PinakesError } from '../base/index.ts';

/** The scripts, each named for its module, with the function that starts it. */
const STARTS = {
  'frame-report': 'reportPage',
  'module-worker': 'startModuleWorker',
  page: 'definePageStart',
  worker: 'defineWorkerStart',
} as const;

export type InPageName = keyof typeof STARTS;

const DIRECTORY = fileURLToPath(new URL('./in-page/', import.meta.url));
const IS_BUILT = import.meta.filename.endsWith('.js');

let bundles: ReadonlyMap<InPageName, string> | undefined;

/** The text of a script that calls its start function with these values. It defines no name in the page. */
export function inPageScript(name: InPageName, ...values: unknown[]): string {
  bundles ??= IS_BUILT ? readBundles() : bundleInPage();
  return `(()=>{"use strict";${bundles.get(name)}inPage.${STARTS[name]}(${values.map(scriptJson).join()})})();\n`;
}

/** A value as JSON that is safe anywhere in a script, also when the script is part of a page. */
export function scriptJson(value: unknown): string {
  // With a `<`, a URL could end the script. The two separators end lines in old engines.
  return JSON.stringify(value).replace(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** The bundle of each script, made from the sources. Each defines `inPage`, an object with what its module exports. */
export function bundleInPage(): Map<InPageName, string> {
  const { outputFiles } = loadEsbuild().buildSync({
    absWorkingDir: DIRECTORY,
    entryPoints: Object.keys(STARTS).map((name) => `${name}.ts`),
    outdir: DIRECTORY,
    bundle: true,
    format: 'iife',
    globalName: 'inPage',
    // Removes only white space. Further minifying would change the names of functions, which pages see.
    minifyWhitespace: true,
    // Every browser with `import()` can parse this version.
    target: 'es2017',
    supported: { 'dynamic-import': true },
    logLevel: 'silent',
    write: false,
  });
  return new Map(outputFiles.map(({ path, text }) => [basename(path, '.js') as InPageName, text]));
}

function loadEsbuild(): typeof import('esbuild') {
  try {
    return createRequire(import.meta.url)('esbuild');
  } catch (cause) {
    const detail = 'it bundles the scripts of replayed pages; `npm ci` installs it';
    throw new PinakesError('FILE_MISSING', { where: 'esbuild', detail, cause });
  }
}

function readBundles(): Map<InPageName, string> {
  return new Map(
    Object.keys(STARTS).map((name) => {
      const path = `${DIRECTORY}${name}.js`;
      try {
        return [name as InPageName, readFileSync(path, 'utf8')];
      } catch (cause) {
        throw fileError(cause, path);
      }
    }),
  );
}
