/** What a job is and what came of it, in words. */
import type { Job } from '../api/replies.ts';
import { counted, formatBytes } from '../wording.ts';

const TITLES: Readonly<Record<string, string>> = {
  add: 'Add files',
  compact: 'Compact the archive',
  crawl: 'Crawl',
  delete: 'Delete captures',
  export: 'Export',
  rebuild: 'Rebuild the catalog',
  verify: 'Verify the archive',
};

/** What the server puts before the name of a file that was sent. */
const UPLOAD_PREFIX = /^[0-9a-f-]{36}-(?=.)/;

export function kindTitle(kind: string): string {
  return TITLES[kind] ?? kind.charAt(0).toUpperCase() + kind.slice(1);
}

/** The kind, and what tells this job from others of its kind. */
export function jobTitle(job: Job): string {
  const subject = subjectOf(job.input);
  return subject === '' ? kindTitle(job.kind) : `${kindTitle(job.kind)}: ${subject}`;
}

function subjectOf(input: unknown): string {
  const record = recordOf(input);
  const list = [record.upload, record.name, record.paths, record.seeds, record.file].flat().filter(isText);
  const [first, ...rest] = list;
  if (first !== undefined) return rest.length === 0 ? shortened(first) : `${shortened(first)} and ${rest.length} more`;
  const selection = recordOf(record.selection ?? input);
  const said = ['collection', 'url', 'prefix', 'format', 'depth'].map((name) => selection[name]).find(isText);
  return said ? shortened(said) : '';
}

function shortened(text: string): string {
  const given = text.replace(UPLOAD_PREFIX, '');
  const last = given.startsWith('/') ? given.split('/').filter(Boolean).at(-1) : given;
  return last && last.length > 80 ? `${last.slice(0, 79)}\u2026` : (last ?? text);
}

/** Sentences about the report of a job that ended; empty when nothing is known of its kind. */
export function reportSentences(kind: string, report: unknown): string[] {
  const facts = recordOf(report);
  const count = (name: string) => (typeof facts[name] === 'number' ? facts[name] : 0);
  switch (kind) {
    case 'add':
      return [
        `${counted(count('files'), 'file')} read: ${counted(count('captures'), 'new capture')}, ${counted(count('capturesKnown'), 'capture')} there already.`,
        count('duplicates') > 0
          ? `${counted(count('duplicates'), 'capture')} had a content that the archive held; ${formatBytes(count('duplicateBytes'))} of payload were not stored again.`
          : '',
        count('unresolved') > 0
          ? `${counted(count('unresolved'), 'revisit')} still wait for the file that holds their original.`
          : '',
      ].filter(isText);
    case 'delete':
      return [
        `${counted(count('captures'), 'capture')} and ${counted(count('contents'), 'content')} were deleted.`,
        'Their bytes leave the disk when the archive is compacted.',
      ];
    case 'compact':
      return [
        count('segments') === 0
          ? 'There was nothing to free.'
          : `${counted(count('segments'), 'segment')} written anew: ${formatBytes(count('bytesBefore'))} before, ${formatBytes(count('bytesAfter'))} after.`,
        count('promoted') > 0 ? `${counted(count('promoted'), 'revisit')} became the holder of a shared content.` : '',
      ].filter(isText);
    case 'verify':
      return [
        `${counted(count('records'), 'record')} in ${counted(count('segments'), 'segment')} were read, ${formatBytes(count('bytes'))}.`,
        count('errors') + count('warnings') === 0
          ? 'Nothing is wrong.'
          : `${counted(count('errors'), 'error')} and ${counted(count('warnings'), 'warning')} were found; the log names them.`,
      ];
    case 'crawl':
      return crawlSentences(facts);
    case 'export':
      return [`${counted(count('captures'), 'capture')} were written, ${formatBytes(count('bytes'))}.`];
    default:
      return [];
  }
}

function crawlSentences(facts: Record<string, unknown>): string[] {
  const counts = recordOf(facts.counts);
  const count = (name: string) => (typeof counts[name] === 'number' ? counts[name] : 0);
  const held = count('duplicate') + count('unchanged') + count('notModified');
  const limit = typeof facts.limit === 'string' ? `, because the limit of ${facts.limit} was reached` : '';
  return [
    `${counted(count('pages'), 'page')} and ${counted(count('captures'), 'capture')} in all, ${formatBytes(count('bytes'))}.`,
    count('rendered') > 0
      ? `${counted(count('rendered'), 'page')} rendered in a browser, with ${counted(count('screenshots'), 'screenshot')}.`
      : '',
    held > 0 ? `${counted(held, 'capture')} had a content that the archive held.` : '',
    count('failed') > 0
      ? `${counted(count('failed'), 'address', 'addresses')} could not be fetched; the log names them.`
      : '',
    facts.outcome === 'done' ? '' : `It ended before all was fetched${limit}. It can be resumed.`,
  ].filter(isText);
}

/** The plain facts of a report, for kinds without sentences and for who wants to know exactly. */
export function reportFacts(report: unknown): [name: string, value: string][] {
  return Object.entries(recordOf(report))
    .filter(([, value]) => ['string', 'number', 'boolean'].includes(typeof value))
    .map(([name, value]) => [spaced(name), /bytes$/i.test(name) ? formatBytes(Number(value)) : String(value)]);
}

function spaced(name: string): string {
  return name.replace(/([a-z])([A-Z])/g, (_, before: string, after: string) => `${before} ${after.toLowerCase()}`);
}

export function recordOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
