/** A query to the CDX server, parsed from the parameters of a request in one of three dialects. */
import type { EpochMs } from '../../base/index.ts';
import type { CapturePosition } from '../../catalog/index.ts';
import { type KeyRange, keyRange, type MatchType, parseUrlPattern, urlKey as urlKeyOf } from '../../url/index.ts';
import { badRequest } from '../http/problem.ts';
import { type Collapse, parseCollapse } from './cdx-collapse.ts';
import { COUNTER_FIELDS } from './cdx-counters.ts';
import { type CdxDialect, type CdxOutput, DIALECTS } from './cdx-dialect.ts';
import { type CdxFilter, parseFilters } from './cdx-filter.ts';
import { parseResumeKey } from './cdx-resume-key.ts';
import { FIELD_NAMES, fieldValue } from './cdx-row.ts';
import { parseClosest, parseFrom, parseTo } from './cdx-time.ts';

/** Lines in a block of an index. Page sizes are in blocks, as in pywb. */
export const BLOCK_LINES = 3000;
const PAGE_BLOCKS = 5;
/** How many lines can be sorted for one reply. */
export const SORTED_LINES_MAX = 10_000;
const FILTERS_MAX = 20;

export type CdxQuery = {
  readonly dialect: CdxDialect;
  /** The requested URL, without wildcards. */
  readonly url: string;
  readonly ranges: readonly KeyRange[];
  readonly isExact: boolean;
  readonly collection: string | undefined;
  readonly from: EpochMs | undefined;
  readonly to: EpochMs | undefined;
  readonly order: 'forward' | 'reverse' | 'closest';
  readonly closest: EpochMs;
  readonly filter: CdxFilter | undefined;
  readonly collapse: Collapse | undefined;
  readonly offset: number;
  /** The maximum number of lines; the last lines when `isLast`. */
  readonly limit: number | undefined;
  readonly isLast: boolean;
  readonly resume: CapturePosition | undefined;
  readonly showsResumeKey: boolean;
  readonly resolvesRevisits: boolean;
  /** Whether duplicates and skipped lines are counted. */
  readonly hasCounters: boolean;
  readonly page: number | undefined;
  readonly pageBlocks: number;
  readonly showsNumPages: boolean;
  readonly output: CdxOutput;
  readonly fields: readonly string[];
  readonly hasOwnFields: boolean;
  readonly mayCompress: boolean;
};

export function parseCdxQuery(parameters: URLSearchParams, dialect: CdxDialect, collection?: string): CdxQuery {
  const facts = DIALECTS[dialect];
  const target = parseTarget(parameters, dialect);
  const resolvesRevisits = isTrue(parameters.get('resolveRevisits'));
  const { fields: columns, hasOwnFields } = parseFields(parameters, dialect, resolvesRevisits);
  const counters = dialect === 'ia' ? parseCounters(parameters, columns) : [];
  // When the client names the fields, it gets no others.
  const fields = hasOwnFields ? columns : [...columns, ...counters];
  const limit = parseNumber(parameters, 'limit', { isSigned: dialect === 'ia' });
  const closest = parameters.get('closest') || undefined;
  const order = parseOrder(parameters, dialect, closest, target.isExact);
  if (counters.length > 0 && order !== 'forward')
    throw badRequest('counters need the order of the index', 'Remove sort and closest.', counters.join(', '));
  const resume = parseResumeKey(parameters.get('resumeKey'));
  const collapse = parseCollapse(parameters, dialect);
  const isLast = limit !== undefined && limit < 0;
  if (resume && (order === 'closest' || isLast || (order === 'reverse' && collapse)))
    throw badRequest(
      'a resume key needs the order of the index',
      'Remove sort=closest, a negative limit, and collapsing in reverse.',
    );
  const specs = parameters.getAll('filter').filter((spec) => spec !== '');
  if (specs.length > FILTERS_MAX) throw badRequest('there are too many filters', `The limit is ${FILTERS_MAX}.`);
  return {
    dialect,
    ...target,
    collection: collection ?? parameters.get('collection') ?? undefined,
    from: parseFrom(parameters.get('from') || parameters.get('from_ts')),
    to: parseTo(parameters.get('to')),
    order,
    closest: order === 'closest' ? parseClosest(closest!) : 0,
    filter: specs.length === 0 ? undefined : parseFilters(specs, dialect, facts.fields),
    collapse,
    offset: parseNumber(parameters, 'offset') ?? 0,
    limit: limit === undefined ? undefined : Math.abs(limit),
    isLast,
    resume,
    showsResumeKey: order !== 'closest' && isTrue(parameters.get('showResumeKey')),
    resolvesRevisits,
    hasCounters: counters.length > 0,
    page: parseNumber(parameters, 'page'),
    pageBlocks: Math.min(50, Math.max(1, parseNumber(parameters, 'pageSize') ?? PAGE_BLOCKS)),
    showsNumPages: isTrue(parameters.get('showNumPages')),
    output: parseOutput(parameters.get('output'), dialect),
    fields,
    hasOwnFields,
    mayCompress: parameters.get('gzip') !== 'false',
  };
}

type Target = Pick<CdxQuery, 'url' | 'ranges' | 'isExact'>;

function parseTarget(parameters: URLSearchParams, dialect: CdxDialect): Target {
  const url = parameters.get('url');
  const matchType = parameters.get('matchType')?.toLowerCase() || undefined;
  const urlKey = parameters.get('urlkey');
  if (!url && urlKey && dialect === 'outbackcdx') return { url: urlKey, ranges: [onlyKey(urlKey)], isExact: true };
  if (!url)
    throw badRequest(
      'the parameter url is missing',
      'Use /cdx?url=example.org, or example.org/* for all URLs below it.',
    );
  // A star alone selects everything. It would otherwise be parsed as a host name.
  if (/^(?:https?:\/\/)?\*$/i.test(url) && matchType !== 'exact')
    return { url, ranges: [{ from: '', to: '\u{10ffff}' }], isExact: false };
  if (matchType === 'range' && dialect === 'outbackcdx')
    return { url, ranges: [{ from: urlKeyOf(url), to: '\u{10ffff}' }], isExact: false };
  if (matchType !== undefined && matchType !== 'default') {
    if (!isMatchType(matchType))
      throw badRequest('the matchType is unknown', 'Use exact, prefix, host or domain.', matchType);
    const bare = withoutWildcard(url, matchType);
    return { url: bare, ranges: rangesOf(bare, matchType), isExact: matchType === 'exact' };
  }
  const pattern = parseUrlPattern(url);
  return { url: pattern.url, ranges: rangesOf(pattern.url, pattern.matchType), isExact: pattern.matchType === 'exact' };
}

function rangesOf(url: string, matchType: MatchType): readonly KeyRange[] {
  return matchType === 'exact' ? [onlyKey(urlKeyOf(url))] : keyRange(url, matchType);
}

/** The range of one key, in the form that the catalog recognizes as one key. */
function onlyKey(key: string): KeyRange {
  return { from: key, to: `${key}\0` };
}

/** Removes a star that means the same as the match type. Any other star is a plain character. */
function withoutWildcard(url: string, matchType: MatchType): string {
  const text =
    matchType === 'prefix' ? url.replace(/\*$/, '') : matchType === 'domain' ? url.replace(/^\*\./, '') : url;
  const pattern = parseUrlPattern(text);
  return pattern.matchType === 'exact' ? pattern.url : text;
}

function isMatchType(text: string): text is MatchType {
  return text === 'exact' || text === 'prefix' || text === 'host' || text === 'domain';
}

function parseOrder(
  parameters: URLSearchParams,
  dialect: CdxDialect,
  closest: string | undefined,
  isExact: boolean,
): CdxQuery['order'] {
  const sort = parameters.get('sort')?.toLowerCase() || 'default';
  if (!['default', 'regular', 'reverse', 'closest'].includes(sort))
    throw badRequest('the sort is unknown', 'Use reverse or closest.', sort);
  // Clients of pywb send `closest=&sort=closest` without a time, and `closest` alone means sort=closest.
  const isClosest = closest !== undefined && (sort === 'closest' || (dialect === 'pywb' && sort === 'default'));
  const isReverse = sort === 'reverse' || (dialect === 'pywb' && isTrue(parameters.get('reverse')));
  if (dialect === 'outbackcdx' && !isExact && (isClosest || isReverse))
    throw badRequest('this sort is for exact matches only', 'Remove sort, or query one URL.', sort);
  if (sort === 'closest' && closest === undefined && dialect === 'ia')
    throw badRequest('sort=closest needs a time', 'Add closest=20240301120000.');
  return isClosest ? 'closest' : isReverse ? 'reverse' : 'forward';
}

function parseFields(
  parameters: URLSearchParams,
  dialect: CdxDialect,
  resolvesRevisits: boolean,
): { fields: readonly string[]; hasOwnFields: boolean } {
  const facts = DIALECTS[dialect];
  const fieldList = (dialect === 'pywb' ? parameters.get('fields') : null) || parameters.get('fl');
  if (!fieldList)
    return { fields: resolvesRevisits ? [...facts.fields, ...facts.originals] : facts.fields, hasOwnFields: false };
  const fields = [...new Set(fieldList.split(',').map((field) => field.trim()))];
  const unknown = fields.find((field) => !fieldValue(field));
  if (unknown !== undefined && dialect !== 'pywb')
    throw badRequest('there is no such field', `The fields are ${FIELD_NAMES.join(', ')}.`, unknown);
  return { fields: fields.filter((field) => fieldValue(field)), hasOwnFields: true };
}

/** Counters that the client requested, by parameter or by field name. */
function parseCounters(parameters: URLSearchParams, columns: readonly string[]): string[] {
  return Object.entries(COUNTER_FIELDS)
    .filter(([parameter, field]) => isTrue(parameters.get(parameter)) || columns.includes(field))
    .map(([, field]) => field);
}

function parseOutput(text: string | null, dialect: CdxDialect): CdxOutput {
  if (!text) return DIALECTS[dialect].output;
  if (text === 'text' || text === 'json' || text === 'cdxj') return text;
  if (text === 'jsondict' && dialect === 'outbackcdx') return text;
  throw badRequest('the output is unknown', 'Use text, json or cdxj.', text);
}

function parseNumber(parameters: URLSearchParams, name: string, { isSigned = false } = {}): number | undefined {
  const text = parameters.get(name);
  if (text === null || text === '') return undefined;
  if (/^\d{1,15}$/.test(text) || (isSigned && /^-\d{1,15}$/.test(text))) return Number(text);
  throw badRequest(`${name} is not a number`, 'Use a whole number.', text);
}

function isTrue(text: string | null): boolean {
  return text !== null && ['true', '1', 'yes', 'on', 'y', 't'].includes(text.toLowerCase());
}
