/**
 * The labels, hints and order of the fields of job forms. Fields that are not listed here are shown as the server
 * describes them.
 */
import type { Schema } from '../forms/form-schema.ts';
import type { Values } from '../forms/schema-values.ts';
import { selectionSchema } from '../forms/selection-schema.ts';

type Presentation = {
  /** The fields that are always shown. All others are folded away. Without this list all fields are shown. */
  readonly first?: readonly string[];
  readonly fields: Readonly<Record<string, Schema>>;
};

const COLLECTION: Schema = {
  description: 'A name made of letters, digits, dots, dashes and underscores. If empty: default.',
};

const SELECTION_HINT = 'Captures must match every field. Leave all fields empty to select everything.';

const PRESENTATIONS: Readonly<Record<string, Presentation>> = {
  add: {
    first: ['paths', 'collection', 'inPlace'],
    fields: {
      paths: { title: 'Files or directories' },
      collection: COLLECTION,
      inPlace: {
        title: 'Add in place',
        description: 'The files are not copied. They must not be moved or changed later.',
      },
    },
  },
  crawl: {
    first: ['seeds', 'collection', 'scope', 'pagesMax', 'depthMax', 'browser'],
    fields: {
      seeds: { title: 'Start pages', description: 'Addresses of the pages to begin with.' },
      collection: COLLECTION,
      scope: {
        title: 'Scope',
        description: 'Default: all pages on the hosts of the start pages.',
        names: {
          host: 'the hosts of the start pages',
          domain: 'the domains of the start pages, with all hosts in them',
          prefix: 'addresses that begin like a start page',
          list: 'only the start pages',
        },
      },
      pagesMax: { title: 'Maximum number of pages', description: 'Default: no limit.' },
      depthMax: { title: 'Maximum depth', description: 'How many links away from a start page.' },
      browser: {
        title: 'Render in a browser',
        description: 'Pages that are built by scripts are complete only if a browser renders them. This is slower.',
        unset: 'default: no',
        names: { none: 'no pages', empty: 'pages without text in their HTML', all: 'every page' },
      },
      screenshots: {
        title: 'Keep screenshots',
        description: 'Only of pages that a browser renders.',
        default: true,
      },
      mode: {
        title: 'Type of crawl',
        description: 'Only a new crawl needs start pages. The other types use what the collection knows.',
        unset: 'a new crawl',
        names: {
          new: 'a new crawl',
          again: 'visit the pages of the collection again',
          resume: 'continue an interrupted crawl',
          scheduled: 'visit the pages that are due by the schedule',
        },
        enum: ['again', 'resume', 'scheduled'],
      },
      fresh: {
        title: 'Discard an unfinished crawl',
        description: 'Forget the addresses that an interrupted crawl of this collection has not fetched yet.',
      },
      include: { title: 'Only addresses that match', description: 'Regular expressions for whole addresses.' },
      exclude: { title: 'No addresses that match', description: 'Regular expressions for whole addresses.' },
      bytesMax: { title: 'Maximum megabytes', unit: 1_000_000 },
      timeMsMax: { title: 'Maximum minutes', unit: 60_000 },
      urlsPerHostMax: { title: 'Maximum number of addresses per host' },
      delayMs: {
        title: 'Seconds between two requests to a host',
        description: 'Default: 1, or more if the server is slow or its robots.txt asks for more.',
        unit: 1000,
      },
      htmlOnly: { title: 'HTML only', description: 'Skip images, styles and scripts. Pages will look plain.' },
      sitemaps: {
        title: 'Read sitemaps',
        description: 'Lists of pages that the sites themselves publish.',
        default: true,
      },
      robots: {
        title: 'Pages that robots.txt forbids',
        unset: 'default: skip them',
        names: { obey: 'skip them', ignore: 'fetch them anyway' },
      },
      budget: {
        title: 'Maximum number of pages to visit again',
        description: 'Pages that are likely to have changed come first.',
      },
      fixed: { title: 'Visit every page again', description: 'Also pages that are not likely to have changed.' },
      gone: {
        title: 'Pages that are gone',
        description: 'Pages that no longer exist on the server (404, 410).',
        unset: 'default: keep their history',
        names: { 'keep-history': 'keep their history', expunge: 'delete them from the collection' },
      },
      userAgent: { title: 'User agent', description: 'The name of the crawler. Include a contact address.' },
    },
  },
  export: {
    fields: {
      format: {
        names: {
          'warc.gz': 'WARC, compressed with gzip (.warc.gz)',
          'warc.zst': 'WARC, compressed with zstd (.warc.zst)',
          warc: 'WARC, not compressed (.warc)',
          wacz: 'WACZ, a package with an index (.wacz)',
          cdxj: 'only the index, as CDXJ (.cdxj)',
          cdx: 'only the index, as CDX (.cdx)',
          parquet: 'a table of the captures (.parquet)',
        },
      },
      selfContained: {
        title: 'Self-contained',
        description:
          'Include every content, also if it is stored with a capture that is not exported. For WARC; a WACZ is always self-contained.',
      },
      capturesOnly: { title: 'Captures only', description: 'Leave out requests and crawler metadata.' },
      odd: { title: 'Include odd records', description: 'Other tools may stop at these records.' },
      title: { description: 'The title inside the file. If empty: the name of the archive.' },
    },
  },
  verify: {
    fields: {
      depth: {
        description: 'Checking the contents finds all damage, but reads every file completely.',
        unset: 'default: files, catalog and contents',
        names: { full: 'files, catalog and contents', quick: 'files and catalog only' },
      },
    },
  },
};

/** Fields that the form requires and the server does not: the server also takes other fields in their place. */
export function requiredFields(kind: string, values: Values): readonly string[] {
  if (kind === 'add') return ['paths'];
  return kind === 'crawl' && !values.mode ? ['seeds'] : [];
}

/** Splits the schema of a job kind in two: the fields that are always shown, and the rest. */
export function formFields(
  kind: string,
  schema: Schema,
  collections: readonly string[] = [],
): { readonly first: Schema; readonly rest: Schema } {
  const { first, fields } = PRESENTATIONS[kind] ?? { fields: {} };
  const all = Object.entries(schema.properties ?? {}).map(([name, field]): [string, Schema] => [
    name,
    {
      ...field,
      ...(name === 'selection' ? { ...selectionSchema(collections), description: SELECTION_HINT } : fields[name]),
    },
  ]);
  const isFirst = (name: string) => first === undefined || first.includes(name) || schema.required?.includes(name);
  const place = (name: string) => first?.indexOf(name) ?? 0;
  const ahead = all.filter(([name]) => isFirst(name)).sort(([a], [b]) => place(a) - place(b));
  return {
    first: { ...schema, properties: Object.fromEntries(ahead) },
    rest: { ...schema, properties: Object.fromEntries(all.filter(([name]) => !isFirst(name))) },
  };
}
