/**
 * The formats of CDX replies.
 *
 *     IA          text: columns and spaces. json: an array of arrays of texts, header first, one array on each line.
 *                 Resume key: an empty line, then the key.
 *     pywb        cdxj: `urlkey timestamp {...}`. json: one object on each line. text: columns and spaces. JSON is
 *                 formatted as by Python.
 *     OutbackCDX  text: columns and spaces. json: an array of arrays without header, numbers as numbers. jsondict: an
 *                 array of objects.
 */
import { formatJson } from '../../warc/index.ts';
import type { CdxQuery } from './cdx-query.ts';
import { type CdxRow, fieldValue } from './cdx-row.ts';

/** Formats line by line, so that a long reply is never in memory as a whole. */
export type CdxWriter = {
  readonly contentType: string;
  start(): string;
  row(row: CdxRow): string;
  end(resumeKey: string | undefined): string;
};

export function cdxWriter(query: CdxQuery): CdxWriter {
  if (query.output === 'cdxj') return cdxjWriter(query);
  if (query.output === 'text') return textWriter(query);
  if (query.dialect === 'pywb') return jsonLinesWriter(query);
  return query.dialect === 'ia' ? iaJsonWriter(query) : outbackJsonWriter(query);
}

const PLAIN_TEXT = 'text/plain; charset=utf-8';
const JSON_TEXT = 'application/json; charset=utf-8';

function valuesOf(query: CdxQuery): (row: CdxRow) => string[] {
  const getters = query.fields.map((field) => fieldValue(field)!);
  return (row) => getters.map((get) => get(row));
}

function textWriter(query: CdxQuery): CdxWriter {
  const values = valuesOf(query);
  return {
    contentType: PLAIN_TEXT,
    start: () => '',
    row: (row) => `${values(row).join(' ')}\n`,
    end: (resumeKey) => (resumeKey === undefined ? '' : `\n${resumeKey}\n`),
  };
}

function iaJsonWriter(query: CdxQuery): CdxWriter {
  const values = valuesOf(query);
  let isEmpty = true;
  return {
    contentType: JSON_TEXT,
    start: () => '[',
    row(row) {
      const head = isEmpty ? JSON.stringify(query.fields) : '';
      isEmpty = false;
      return `${head},\n${JSON.stringify(values(row))}`;
    },
    end: (resumeKey) => (resumeKey === undefined ? ']\n' : `,\n[],\n${JSON.stringify([resumeKey])}]\n`),
  };
}

/** Keys of a CDXJ object, with the names of pywb, in the order of indexers. */
const CDXJ_FIELDS = ['url', 'mime', 'status', 'digest', 'length', 'offset', 'filename'];

/** Leaves out absent values, as in CDXJ files, except for the fields of resolved revisits. */
function pairsOf(fields: readonly string[]): (row: CdxRow) => [string, string][] {
  const getters = fields.map((field) => [field, fieldValue(field)!] as const);
  return (row) => {
    const pairs: [string, string][] = [];
    for (const [field, get] of getters) {
      const value = get(row);
      if (value !== '-' || field.startsWith('orig')) pairs.push([field, value]);
    }
    return pairs;
  };
}

function cdxjWriter(query: CdxQuery): CdxWriter {
  const originals = query.resolvesRevisits ? ['orig.length', 'orig.offset', 'orig.filename'] : [];
  const fields = query.hasOwnFields ? query.fields : [...CDXJ_FIELDS, ...originals];
  const pairs = pairsOf(fields.filter((field) => field !== 'urlkey' && field !== 'timestamp'));
  return {
    contentType: 'text/x-cdxj; charset=utf-8',
    start: () => '',
    row: (row) => `${row.urlkey} ${row.timestamp} ${formatJson(Object.fromEntries(pairs(row)))}\n`,
    end: (resumeKey) => (resumeKey === undefined ? '' : `\n${resumeKey}\n`),
  };
}

function jsonLinesWriter(query: CdxQuery): CdxWriter {
  const pairs = pairsOf(query.fields);
  return {
    contentType: 'text/x-ndjson; charset=utf-8',
    start: () => '',
    row: (row) => `${formatJson(Object.fromEntries(pairs(row)))}\n`,
    end: () => '',
  };
}

const NUMBERS = new Set(['timestamp', 'statuscode', 'status', 'length', 'offset', 'originalLength', 'originalOffset']);

function outbackJsonWriter(query: CdxQuery): CdxWriter {
  const getters = query.fields.map((field) => {
    const get = fieldValue(field)!;
    if (!NUMBERS.has(field)) return (row: CdxRow) => JSON.stringify(get(row));
    return (row: CdxRow) => (get(row) === '-' ? (field.startsWith('status') ? '0' : 'null') : get(row));
  });
  const names = query.fields.map((field) => JSON.stringify(field));
  const isObjects = query.output === 'jsondict';
  const format = (row: CdxRow) => {
    if (!isObjects) return `[${getters.map((get) => get(row)).join(',')}]`;
    return `{${getters.map((get, index) => `${names[index]}:${get(row)}`).join(',')}}`;
  };
  let isEmpty = true;
  return {
    contentType: JSON_TEXT,
    start: () => '[',
    row(row) {
      const comma = isEmpty ? '' : ',';
      isEmpty = false;
      return comma + format(row);
    },
    end: () => ']',
  };
}
