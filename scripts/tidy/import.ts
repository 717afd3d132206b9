/**
 * Finds the other modules that a source names: `import` and `export ... from` in every form, including type-only ones,
 * `import('...')` as call and as type, `import.meta.resolve('...')`, and `new URL('./file.ts', import.meta.url)`, which
 * starts worker threads.
 */
import type { Source } from './source.ts';

export type ImportKind = 'static' | 'dynamic' | 'url';

export type Import = {
  readonly kind: ImportKind;
  /** The specifier as written; undefined when it is computed. */
  readonly specifier: string | undefined;
  /** The offset of the opening quote of the specifier. */
  readonly offset: number;
  readonly line: number;
};

const FORMS: readonly { kind: ImportKind; pattern: RegExp }[] = [
  { kind: 'static', pattern: /(?<![\w$.])(?:import|export)(?=[\s{*])[\w$*\s{},]*?\bfrom\s*(?=['"])/g },
  { kind: 'static', pattern: /(?<![\w$.])import\s*(?=['"])/g },
  { kind: 'dynamic', pattern: /(?<![\w$.])import\s*\(\s*/g },
  { kind: 'dynamic', pattern: /(?<![\w$.])import\s*\.\s*meta\s*\.\s*resolve\s*\(\s*/g },
];

const URL_OF_FILE = /\bnew\s+URL\s*\(\s*(?=(['"`])\s*\1\s*,\s*import\s*\.\s*meta\s*\.\s*url\b)/g;

export function importsOf(source: Source): Import[] {
  const found: Import[] = [];
  for (const { kind, pattern } of FORMS) {
    for (const match of source.code.matchAll(pattern)) {
      const offset = match.index + match[0].length;
      found.push({ kind, specifier: source.strings.get(offset), offset, line: source.lineAt(offset) });
    }
  }
  for (const match of source.code.matchAll(URL_OF_FILE)) {
    const offset = match.index + match[0].length;
    const specifier = source.strings.get(offset);
    const isModule = specifier !== undefined && /^\.{1,2}\/.*\.[cm]?[jt]s$/.test(specifier);
    if (isModule) found.push({ kind: 'url', specifier, offset, line: source.lineAt(offset) });
  }
  return found.sort((a, b) => a.offset - b.offset);
}

/** The npm package that a specifier belongs to; undefined for files, modules of Node and URLs. */
export function packageOf(specifier: string): string | undefined {
  if (/^(?:[./#]|[a-z]+:)/.test(specifier)) return undefined;
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}
