/**
 * How the fields of jobs are shown: which come first, what they are called, and what to say of them. What is not named
 * here is shown as the server describes it.
 */
import type { Schema } from './form-schema.ts';
import type { Values } from './schema-values.ts';
import { selectionSchema } from './selection-schema.ts';

type Presentation = {
  /** All others are folded away. Without it, all are shown. */
  readonly first?: readonly string[];
  readonly fields: Readonly<Record<string, Schema>>;
};

const COLLECTION: Schema = {
  description: 'A name for what belongs together: letters, digits, dots, dashes and underscores. Without it: default.',
};

const CHOSEN = 'All that is said must hold. When nothing is said, everything is meant.';

const PRESENTATIONS: Readonly<Record<string, Presentation>> = {
  add: {
    first: ['paths', 'collection', 'inPlace'],
    fields: {
      paths: { title: 'Files or directories' },
      collection: COLLECTION,
      inPlace: {
        title: 'Leave them where they are',
        description: 'Nothing is copied; the files must stay as they are.',
      },
    },
  },
  crawl: {
    first: ['seeds', 'collection', 'scope', 'pagesMax', 'depthMax', 'browser'],
    fields: {
      seeds: { title: 'Begin with', description: 'Addresses of pages.' },
      collection: COLLECTION,
      scope: {
        title: 'How far to go',
        description: 'Usually everything on the hosts of these pages.',
        names: {
          host: 'the hosts of these pages',
          domain: 'their whole domains, with all hosts in them',
          prefix: 'addresses that begin like these',
          list: 'these pages alone',
        },
      },
      pagesMax: { title: 'At most so many pages', description: 'Usually no limit.' },
      depthMax: { title: 'At most so many links away', description: 'Counted from the pages to begin with.' },
      browser: {
        title: 'With a browser',
        description: 'Pages that scripts fill are whole only when a browser renders them, which takes longer.',
        unset: 'as usual: no',
        names: { none: 'no page', empty: 'pages without text of their own', all: 'every page' },
      },
      screenshots: {
        title: 'Keep a picture of each page',
        description: 'Of those that a browser renders.',
        default: true,
      },
      mode: {
        title: 'What to do',
        description: 'All but a new crawl go by what the collection knows, and need no pages to begin with.',
        unset: 'a new crawl',
        names: {
          new: 'a new crawl',
          again: 'visit the pages of the collection again',
          resume: 'go on with one that was interrupted',
          scheduled: 'what its schedule says is due',
        },
        enum: ['again', 'resume', 'scheduled'],
      },
      fresh: {
        title: 'Forget an unfinished crawl',
        description: 'What it had still to do in this collection is dropped.',
      },
      include: { title: 'Only addresses that match', description: 'Regular expressions on whole addresses.' },
      exclude: { title: 'No addresses that match', description: 'Regular expressions on whole addresses.' },
      bytesMax: { title: 'At most so many megabytes', unit: 1_000_000 },
      timeMsMax: { title: 'At most so many minutes', unit: 60_000 },
      urlsPerHostMax: { title: 'At most so many addresses of a host' },
      delayMs: {
        title: 'Seconds between two requests to a host',
        description: 'Usually 1, and more when the server is slow or its robots.txt asks for it.',
        unit: 1000,
      },
      htmlOnly: { title: 'HTML only', description: 'No pictures, styles and scripts; pages will look bare.' },
      sitemaps: {
        title: 'Read sitemaps',
        description: 'The lists of pages that sites give themselves.',
        default: true,
      },
      robots: {
        title: 'What robots.txt forbids',
        unset: 'as usual: left alone',
        names: { obey: 'left alone', ignore: 'fetched all the same' },
      },
      budget: {
        title: 'Pages to visit again, at most',
        description: 'When pages are visited again: those first that are likely to have changed.',
      },
      fixed: { title: 'Visit every page again', description: 'Whether it is likely to have changed or not.' },
      gone: {
        title: 'Pages that are gone',
        description: 'Those that the server says are no longer there (404, 410).',
        unset: 'as usual: their history is kept',
        names: { 'keep-history': 'their history is kept', expunge: 'deleted from the collection' },
      },
      userAgent: { title: 'User agent', description: 'What the crawler calls itself; name an address to write to.' },
    },
  },
  export: {
    fields: {
      format: {
        names: {
          'warc.gz': 'WARC, packed with gzip (.warc.gz)',
          'warc.zst': 'WARC, packed with zstd (.warc.zst)',
          warc: 'WARC, not packed (.warc)',
          wacz: 'WACZ, a package with its index (.wacz)',
          cdxj: 'only the index, CDXJ (.cdxj)',
          cdx: 'only the index, CDX (.cdx)',
          parquet: 'a table of the captures (.parquet)',
        },
      },
      selfContained: {
        title: 'Stands alone',
        description:
          'Captures that lean on others get their contents too. For WARC and WACZ; a WACZ always stands alone.',
      },
      capturesOnly: { title: 'Captures only', description: 'Without the requests and the metadata of the crawler.' },
      title: { description: 'What the file is called inside. Without it: the name of the archive.' },
    },
  },
  verify: {
    fields: {
      depth: {
        description: 'Reading every content finds all damage, and takes as long as reading all files.',
        unset: 'as usual: every content too',
        names: { full: 'every content too', quick: 'files and catalog, not the contents' },
      },
    },
  },
};

/**
 * What must be filled in here, besides what the server always needs: other ways to say it are for other screens, or
 * chosen among the settings.
 */
export function requiredFields(kind: string, values: Values): readonly string[] {
  if (kind === 'add') return ['paths'];
  return kind === 'crawl' && !values.mode ? ['seeds'] : [];
}

/** The schema of a kind in two parts: what is asked first, and what only some want to set. */
export function formFields(
  kind: string,
  schema: Schema,
  collections: readonly string[] = [],
): { readonly first: Schema; readonly rest: Schema } {
  const { first, fields } = PRESENTATIONS[kind] ?? { fields: {} };
  const all = Object.entries(schema.properties ?? {}).map(([name, field]): [string, Schema] => [
    name,
    { ...field, ...(name === 'selection' ? { ...selectionSchema(collections), description: CHOSEN } : fields[name]) },
  ]);
  const isFirst = (name: string) => first === undefined || first.includes(name) || schema.required?.includes(name);
  const place = (name: string) => first?.indexOf(name) ?? 0;
  const ahead = all.filter(([name]) => isFirst(name)).sort(([a], [b]) => place(a) - place(b));
  return {
    first: { ...schema, properties: Object.fromEntries(ahead) },
    rest: { ...schema, properties: Object.fromEntries(all.filter(([name]) => !isFirst(name))) },
  };
}
