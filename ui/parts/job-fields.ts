/** How the fields of jobs are shown: which come first, what they are called, and what to say of them. What is not named here is shown as the server describes it. */
import type { Schema } from '../api/replies.ts';

type Presentation = {
  /** All others are folded away. Without it, all are shown. */
  readonly first?: readonly string[];
  readonly fields: Readonly<Record<string, Schema>>;
};

const COLLECTION: Schema = {
  description: 'A name for what belongs together: letters, digits, dots, dashes and underscores. Without it: default.',
};

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
        description:
          'host: the hosts of these pages, as without it. domain: with all hosts below them. prefix: what begins as these addresses do. list: these pages alone.',
      },
      pagesMax: { title: 'At most so many pages' },
      depthMax: { title: 'At most so many links away from the start' },
      browser: {
        title: 'As a browser',
        description:
          'Pages that scripts fill are whole only when a browser renders them, which takes longer. empty: only pages without text of their own. all: every page. none: not even if the crawl that is done again had it.',
        unset: 'no',
      },
      screenshots: { title: 'Keep a picture of each rendered page', default: true },
      mode: {
        title: 'What to do',
        description:
          'new: a new crawl, as without it. again: visit the pages of the collection anew. resume: go on with one that was interrupted. scheduled: what is due.',
      },
      fresh: { title: 'Forget an unfinished crawl of the collection' },
      include: { title: 'Only addresses that match', description: 'Regular expressions on whole addresses.' },
      exclude: { title: 'No addresses that match', description: 'Regular expressions on whole addresses.' },
      bytesMax: { title: 'At most so many bytes' },
      timeMsMax: { title: 'At most so many milliseconds' },
      urlsPerHostMax: { title: 'At most so many addresses of a host' },
      delayMs: { title: 'Milliseconds between two requests to a host', description: '1000, unless told.' },
      htmlOnly: { title: 'HTML only', description: 'No pictures, styles and scripts; pages will look bare.' },
      sitemaps: { title: 'Read sitemaps', default: true },
      robots: { title: 'robots.txt', description: 'Obeyed, unless told.' },
      budget: { title: 'Pages to visit again, at most' },
      fixed: { title: 'Visit every page again', description: 'Whatever its rate of change.' },
      gone: { title: 'Pages that are gone' },
      userAgent: { title: 'User agent' },
    },
  },
  export: {
    fields: {
      selfContained: { title: 'Stands alone' },
      capturesOnly: { title: 'Captures only' },
    },
  },
};

/** The schema of a kind in two parts: what is asked first, and what only some want to set. */
export function presented(kind: string, schema: Schema): { readonly first: Schema; readonly rest: Schema } {
  const { first, fields } = PRESENTATIONS[kind] ?? { fields: {} };
  const all = Object.entries(schema.properties ?? {}).map(([name, field]): [string, Schema] => [
    name,
    { ...field, ...fields[name] },
  ]);
  const isFirst = (name: string) => first === undefined || first.includes(name) || schema.required?.includes(name);
  const place = (name: string) => first?.indexOf(name) ?? 0;
  const ahead = all.filter(([name]) => isFirst(name)).sort(([a], [b]) => place(a) - place(b));
  return {
    first: { ...schema, properties: Object.fromEntries(ahead) },
    rest: { ...schema, properties: Object.fromEntries(all.filter(([name]) => !isFirst(name))) },
  };
}
