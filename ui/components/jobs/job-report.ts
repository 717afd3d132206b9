/** The title and the result of a job, in words. */
import { isUnderWay } from '../../api/job-merge.ts';
import type { Job } from '../../api/replies.ts';
import { counted, formatBytes } from '../../app/wording.ts';
import { typedCommand } from './command-subject.ts';

const TITLES: Readonly<Record<string, string>> = {
  add: 'Add files',
  compact: 'Compact the archive',
  copies: 'Copy what many captures refer to',
  crawl: 'Crawl',
  delete: 'Delete captures',
  export: 'Export',
  rebuild: 'Rebuild the catalog',
  'mirror-sync': 'Bring mirrors up to date',
  takedown: 'Take contents down',
  'takedown-check': 'Search for what was taken down',
  verify: 'Verify the archive',
};

/** Jobs that begin with a preview. They have no form among the others, and are not repeated as they are. */
export const PREVIEWED_KINDS: readonly string[] = ['delete', 'takedown'];

/** The server puts this before the name of an uploaded file. */
const UPLOAD_PREFIX = /^[0-9a-f-]{36}-(?=.)/;

export function kindTitle(kind: string): string {
  return TITLES[kind] ?? kind.charAt(0).toUpperCase() + kind.slice(1);
}

const SUBJECTS = ['collection', 'url', 'prefix', 'format', 'depth'];

/** The kind of the job, and its subject, which distinguishes it from other jobs of its kind. */
export function jobTitle(job: Job): string {
  const subject = subjectOf(job.input);
  return subject === '' ? kindTitle(job.kind) : `${kindTitle(job.kind)}: ${subject}`;
}

function subjectOf(input: unknown): string {
  const record = recordOf(input);
  const command = typedCommand(argvOf(input));
  const list = [record.upload, record.name, record.paths, record.seeds, record.file, command.named].flat();
  const [first, ...rest] = list.filter(isText);
  if (first !== undefined) return rest.length === 0 ? shortened(first) : `${shortened(first)} and ${rest.length} more`;
  const selection = recordOf(record.selection ?? input);
  const selected = SUBJECTS.map((name) => selection[name]).find(isText);
  return shortened(selected ?? command.subject);
}

/** The arguments of a job that was started on the command line. */
export function argvOf(input: unknown): readonly string[] {
  const { argv } = recordOf(input);
  return Array.isArray(argv) ? argv.filter(isText) : [];
}

function shortened(text: string): string {
  const given = text.replace(UPLOAD_PREFIX, '');
  const last = given.startsWith('/') ? given.split('/').filter(Boolean).at(-1) : given;
  return last && last.length > 80 ? `${last.slice(0, 79)}\u2026` : (last ?? text);
}

/** The number of failed addresses that are listed. */
const NAMED_MAX = 10;

const EXIT_SENTENCES: readonly string[] = [
  'It ended without errors (exit code 0).',
  'It ended, but found errors or left something out (exit code 1).',
  'It failed (exit code 2).',
  'It failed because of a bug in Pinakes (exit code 3).',
];

const EXIT_INTERRUPTED = 130;

/** The exit code of a command, in words; '' for a job that is not a command. */
export function endSentence(report: unknown): string {
  const { exitCode } = recordOf(report);
  if (exitCode === EXIT_INTERRUPTED) return 'It was interrupted (exit code 130).';
  return typeof exitCode === 'number' ? (EXIT_SENTENCES[exitCode] ?? `It ended with exit code ${exitCode}.`) : '';
}

/** Sentences about the report of a job. A sentence is left out if the report does not have all of its numbers. */
export function reportSentences(kind: string, report: unknown): string[] {
  const facts = recordOf(report);
  const { many, size, isSome } = numbersOf(facts);
  const sentences: Record<string, () => (string | false | undefined)[]> = {
    add: () => [
      ifKnown`${many('files', 'file')} read: ${many('captures', 'new capture')}, ${many('capturesKnown', 'capture')} already in the archive.`,
      isSome('duplicates')
        ? ifKnown`The archive already had the content of ${many('duplicates', 'capture')}, so ${size('duplicateBytes')} were not stored again.`
        : '',
      isSome('unresolved')
        ? ifKnown`The archive does not have the content of ${many('unresolved', 'revisit')}. Add the files that contain it.`
        : '',
      isSome('errors')
        ? ifKnown`The files have ${many('errors', 'error')} and ${many('warnings', 'warning')}; the log lists the last of them. All readable records were kept.`
        : '',
      ...failureSentences(facts.failed),
    ],
    delete: () => {
      const deleted = ifKnown`${many('captures', 'capture')} and ${many('contents', 'content')} were deleted.`;
      return [deleted, deleted && 'Their bytes stay on disk until the archive is compacted.'];
    },
    takedown: () => {
      const barred = ifKnown`${many('contents', 'content')} and ${many('urls', 'URL')} were barred for good, and ${many('captures', 'capture')} deleted.`;
      const gone = 'No file has bytes of them any more.';
      const left = 'Bytes of them may still be on disk until the archive is compacted.';
      return [barred, barred && (facts.isGone === true ? gone : left)];
    },
    compact: () => [
      facts.segments === 0
        ? leftSegments(facts) === 0 && 'There was nothing to free.'
        : ifKnown`${many('segments', 'segment')} rewritten: ${size('bytesBefore')} before, ${size('bytesAfter')} after.`,
      isSome('promoted')
        ? ifKnown`Changed into full records, because their originals were deleted: ${many('promoted', 'revisit')}.`
        : '',
      ...leftSentences(facts),
      recompressionSentence(recordOf(facts.recompression)),
    ],
    verify: () => [
      ifKnown`Read: ${many('records', 'record')} in ${many('segments', 'segment')}, ${size('bytes')}.`,
      facts.errors === 0 && facts.warnings === 0
        ? 'No damage was found.'
        : ifKnown`${many('errors', 'error')} and ${many('warnings', 'warning')} were found; the log lists them.`,
    ],
    rebuild: () => [
      ifKnown`The catalog was made from ${many('segments', 'segment')}: ${many('captures', 'capture')}, ${many('blocks', 'content')}.`,
    ],
    crawl: () => crawlSentences(facts),
    export: () => [
      'bytes' in facts
        ? ifKnown`Written: ${many('captures', 'capture')}, ${size('bytes')}.`
        : ifKnown`Written: ${many('captures', 'capture')}.`,
      isSome('unresolved')
        ? ifKnown`Exported without content, because the content is missing or damaged: ${many('unresolved', 'revisit')}.`
        : '',
      isSome('damaged')
        ? ifKnown`The file has ${many('damaged', 'damaged record')}, as stored or as far as readable.`
        : '',
      isSome('leftOut') ? ifKnown`Left out as unreadable: ${many('leftOut', 'damaged record')}.` : '',
      isSome('damaged') || isSome('leftOut')
        ? 'The log lists them. Restore these segments from a backup, then export again.'
        : '',
    ],
  };
  return (sentences[kind]?.() ?? []).filter(isText);
}

const LEFT: readonly [name: string, why: string][] = [
  ['damaged', 'because of damage. Restore the file from a backup'],
  ['doubled', 'because another volume has a different file of the same name'],
  ['readOnly', 'because the volume is read-only'],
  ['waiting', 'because a volume is missing, a segment cannot be read or the list of snapshots is damaged'],
  ['kept', 'because a snapshot needs the records'],
];

function countOf(list: unknown): number {
  return Array.isArray(list) ? list.length : 0;
}

function leftSegments(facts: Record<string, unknown>): number {
  return LEFT.reduce((sum, [name]) => sum + countOf(facts[name]), 0);
}

/** The segments that compaction could not free. */
function leftSentences(facts: Record<string, unknown>): string[] {
  return LEFT.filter(([name]) => countOf(facts[name]) > 0).map(
    ([name, why]) => `Not compacted: ${counted(countOf(facts[name]), 'segment')} with deleted records, ${why}.`,
  );
}

function recompressionSentence(recompression: Record<string, unknown>): string | undefined {
  const { many, size, isSome } = numbersOf(recompression);
  if (!isSome('segments')) return undefined;
  return ifKnown`${many('segments', 'segment')} recompressed: ${size('bytesBefore')} before, ${size('bytesAfter')} after.`;
}

function failureSentences(failed: unknown): string[] {
  if (!Array.isArray(failed) || failed.length === 0) return [];
  const messages = failed.map((one) => recordOf(one).message).filter(isText);
  return [`${counted(failed.length, 'file')} could not be added:`, ...messages];
}

const ADDRESSES_REFUSED =
  'The crawler refuses addresses that are not on the public internet. An administrator can allow a private network in archive.yaml, for example `crawl: { privateNetworks: [10.20.0.0/16] }`, and restart the server.';

function crawlSentences(facts: Record<string, unknown>): (string | undefined)[] {
  if (typeof facts.crawls === 'number')
    return [facts.crawls === 0 ? 'No crawl was due.' : `${counted(facts.crawls, 'crawl')} run; the log lists each.`];
  const counts = recordOf(facts.counts);
  const { many, size } = numbersOf(counts);
  const count = (name: string) => (typeof counts[name] === 'number' ? counts[name] : 0);
  const held = count('duplicate') + count('unchanged');
  const limit = typeof facts.limit === 'string' ? `, because the limit of ${facts.limit} was reached` : '';
  return [
    ifKnown`${many('pages', 'page')} and ${many('captures', 'capture')} in total, ${size('bytes')}.`,
    count('rendered') > 0
      ? `${counted(count('rendered'), 'page')} rendered in a browser, with ${counted(count('screenshots'), 'screenshot')}.`
      : '',
    held > 0 ? `The archive already had the content of ${counted(held, 'capture')}.` : '',
    ...unfetchedSentences(count('failed'), facts.failedUrls),
    recordOf(counts.failures)['address-refused'] === undefined ? '' : ADDRESSES_REFUSED,
    facts.outcome === undefined || facts.outcome === 'done'
      ? ''
      : `It ended before every page was fetched${limit}. You can resume it.`,
  ];
}

function unfetchedSentences(failed: number, urls: unknown): string[] {
  if (failed === 0) return [];
  const named = (Array.isArray(urls) ? urls : []).slice(0, NAMED_MAX).map((one) => {
    const { url, reason } = recordOf(one);
    return `${url}: ${reason}`;
  });
  const words = `${counted(failed, 'address', 'addresses')} could not be fetched`;
  if (named.length === 0) return [`${words}.`];
  return [`${words}${failed > named.length ? ', among them' : ''}:`, ...named];
}

/** The collection that a job stored into, and the start pages if it is a crawl. */
export function savedBy(job: Job): { readonly collection: string; readonly seeds: readonly string[] } | undefined {
  if (isUnderWay(job) || !['add', 'crawl'].includes(job.kind)) return undefined;
  const { collection = recordOf(job.input).collection, seeds } = recordOf(job.report);
  if (!isText(collection)) return undefined;
  return { collection, seeds: Array.isArray(seeds) ? seeds.filter(isText) : [] };
}

/** Numbers of a report in words. A number that the report does not have is undefined, which is not the same as 0. */
function numbersOf(facts: Readonly<Record<string, unknown>>) {
  const numberOf = (name: string) => (typeof facts[name] === 'number' ? facts[name] : undefined);
  return {
    many: (name: string, singular: string) => {
      const count = numberOf(name);
      return count === undefined ? undefined : counted(count, singular);
    },
    size: (name: string) => {
      const bytes = numberOf(name);
      return bytes === undefined ? undefined : formatBytes(bytes);
    },
    isSome: (name: string) => (numberOf(name) ?? 0) > 0,
  };
}

/** Builds a sentence; undefined if one of its parts is undefined. */
function ifKnown(texts: TemplateStringsArray, ...parts: readonly (string | undefined)[]): string | undefined {
  if (parts.includes(undefined)) return undefined;
  return texts.map((text, at) => text + (parts[at] ?? '')).join('');
}

/** All simple values of a report, for kinds without sentences and for readers who want the details. */
export function reportFacts(report: unknown): [name: string, value: string][] {
  return Object.entries(recordOf(report))
    .filter(([name, value]) => name !== 'exitCode' && ['string', 'number', 'boolean'].includes(typeof value))
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
