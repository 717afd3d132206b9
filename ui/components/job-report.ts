/** What a job is and what came of it, in words. */
import { isUnderWay } from '../api/job-merge.ts';
import type { Job } from '../api/replies.ts';
import { counted, formatBytes } from '../app/wording.ts';
import { typedCommand } from './command-subject.ts';

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

const SUBJECTS = ['collection', 'url', 'prefix', 'format', 'depth'];

/** The kind, and what tells this job from others of its kind. */
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
  const said = SUBJECTS.map((name) => selection[name]).find(isText);
  return shortened(said ?? command.subject);
}

/** What was typed, of a job that was begun on the command line. */
export function argvOf(input: unknown): readonly string[] {
  const { argv } = recordOf(input);
  return Array.isArray(argv) ? argv.filter(isText) : [];
}

function shortened(text: string): string {
  const given = text.replace(UPLOAD_PREFIX, '');
  const last = given.startsWith('/') ? given.split('/').filter(Boolean).at(-1) : given;
  return last && last.length > 80 ? `${last.slice(0, 79)}\u2026` : (last ?? text);
}

/** Of many that failed. */
const NAMED_MAX = 10;

const ENDS: readonly string[] = [
  'It ended without errors (exit code 0).',
  'It ended, and found errors or left something out (exit code 1).',
  'It could not do all that was asked (exit code 2).',
  'It met a bug in Pinakes (exit code 3).',
];

const EXIT_INTERRUPTED = 130;

/** How a command ended, in words; empty of what was no command. */
export function endSentence(report: unknown): string {
  const { exitCode } = recordOf(report);
  if (exitCode === EXIT_INTERRUPTED) return 'It was interrupted (exit code 130).';
  return typeof exitCode === 'number' ? (ENDS[exitCode] ?? `It ended with exit code ${exitCode}.`) : '';
}

/** Sentences about the report of a job. Of what the report does not say, nothing is said. */
export function reportSentences(kind: string, report: unknown): string[] {
  const facts = recordOf(report);
  const { many, size, isSome } = numbersOf(facts);
  const sentences: Record<string, () => (string | false | undefined)[]> = {
    add: () => [
      ifKnown`${many('files', 'file')} read: ${many('captures', 'new capture')}, ${many('capturesKnown', 'capture')} there already.`,
      isSome('duplicates')
        ? ifKnown`${many('duplicates', 'capture')} had a content that the archive held; ${size('duplicateBytes')} of payload were not stored again.`
        : '',
      isSome('unresolved')
        ? ifKnown`${many('unresolved', 'revisit')} without an original in the archive; add the file that holds it.`
        : '',
      isSome('errors')
        ? ifKnown`${many('errors', 'error')} and ${many('warnings', 'warning')} were found in what was read; the log names the last. All that can be read was kept.`
        : '',
      ...failureSentences(facts.failed),
    ],
    delete: () => {
      const deleted = ifKnown`${many('captures', 'capture')} and ${many('contents', 'content')} were deleted.`;
      return [deleted, deleted && 'Their bytes leave the disk when the archive is compacted.'];
    },
    compact: () => [
      facts.segments === 0
        ? leftSegments(facts) === 0 && 'There was nothing to free.'
        : ifKnown`${many('segments', 'segment')} written anew: ${size('bytesBefore')} before, ${size('bytesAfter')} after.`,
      isSome('promoted') ? ifKnown`${many('promoted', 'revisit')} became the holder of a shared content.` : '',
      ...leftSentences(facts),
      packedSentence(recordOf(facts.recompression)),
    ],
    verify: () => [
      ifKnown`Read: ${many('records', 'record')} in ${many('segments', 'segment')}, ${size('bytes')}.`,
      facts.errors === 0 && facts.warnings === 0
        ? 'Nothing is wrong.'
        : ifKnown`${many('errors', 'error')} and ${many('warnings', 'warning')} were found; the log names them.`,
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
        ? ifKnown`${many('unresolved', 'revisit')} stayed without content, because the archive does not have it, or because it is damaged.`
        : '',
      isSome('damaged')
        ? ifKnown`The file has ${many('damaged', 'damaged record')}, as stored or as far as readable.`
        : '',
      isSome('leftOut') ? ifKnown`${many('leftOut', 'damaged record')} had to be left out: nothing usable is there.` : '',
      isSome('damaged') || isSome('leftOut')
        ? 'The log says where. Put sound copies of these segments back from a backup, and export again.'
        : '',
    ],
  };
  return (sentences[kind]?.() ?? []).filter(isText);
}

const LEFT: readonly [name: string, why: string][] = [
  ['damaged', 'because of damage. Put a sound copy back from a backup'],
  ['doubled', 'because another volume has a different file of the same name'],
  ['readOnly', 'in a volume that may only be read'],
  ['waiting', 'because a volume is missing, a segment cannot be read or the list of snapshots is damaged'],
  ['kept', 'in a snapshot'],
];

function countOf(list: unknown): number {
  return Array.isArray(list) ? list.length : 0;
}

function leftSegments(facts: Record<string, unknown>): number {
  return LEFT.reduce((sum, [name]) => sum + countOf(facts[name]), 0);
}

/** What compaction could not free. */
function leftSentences(facts: Record<string, unknown>): string[] {
  return LEFT.filter(([name]) => countOf(facts[name]) > 0).map(
    ([name, why]) => `${counted(countOf(facts[name]), 'segment')} with deleted records had to stay, ${why}.`,
  );
}

function packedSentence(recompression: Record<string, unknown>): string | undefined {
  const { many, size, isSome } = numbersOf(recompression);
  if (!isSome('segments')) return undefined;
  return ifKnown`${many('segments', 'segment')} packed anew: ${size('bytesBefore')} before, ${size('bytesAfter')} after.`;
}

function failureSentences(failed: unknown): string[] {
  if (!Array.isArray(failed) || failed.length === 0) return [];
  const messages = failed.map((one) => recordOf(one).message).filter(isText);
  return [`${counted(failed.length, 'file')} could not be added:`, ...messages];
}

const ADDRESSES_REFUSED =
  'Addresses that are not on the public internet are refused. An administrator can allow a network of your own in archive.yaml, as `crawl: { privateNetworks: [10.20.0.0/16] }`; the server has to be started again then.';

function crawlSentences(facts: Record<string, unknown>): (string | undefined)[] {
  if (typeof facts.crawls === 'number')
    return [facts.crawls === 0 ? 'No crawl was due.' : `${counted(facts.crawls, 'crawl')} run; the log has each.`];
  const counts = recordOf(facts.counts);
  const { many, size } = numbersOf(counts);
  const count = (name: string) => (typeof counts[name] === 'number' ? counts[name] : 0);
  const held = count('duplicate') + count('unchanged');
  const limit = typeof facts.limit === 'string' ? `, because the limit of ${facts.limit} was reached` : '';
  return [
    ifKnown`${many('pages', 'page')} and ${many('captures', 'capture')} in all, ${size('bytes')}.`,
    count('rendered') > 0
      ? `${counted(count('rendered'), 'page')} rendered in a browser, with ${counted(count('screenshots'), 'screenshot')}.`
      : '',
    held > 0 ? `${counted(held, 'capture')} had a content that the archive held.` : '',
    ...unfetchedSentences(count('failed'), facts.failedUrls),
    recordOf(counts.failures)['address-refused'] === undefined ? '' : ADDRESSES_REFUSED,
    facts.outcome === undefined || facts.outcome === 'done'
      ? ''
      : `It ended before all was fetched${limit}. It can be resumed.`,
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

/** Where to see what a job took in: the collection, and the pages that a crawl began with. */
export function savedBy(job: Job): { readonly collection: string; readonly seeds: readonly string[] } | undefined {
  if (isUnderWay(job) || !['add', 'crawl'].includes(job.kind)) return undefined;
  const { collection = recordOf(job.input).collection, seeds } = recordOf(job.report);
  if (!isText(collection)) return undefined;
  return { collection, seeds: Array.isArray(seeds) ? seeds.filter(isText) : [] };
}

/** Numbers of a report in words; undefined when the report has no such number, which is not the same as none. */
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

/** A sentence, when all that it tells is known. */
function ifKnown(texts: TemplateStringsArray, ...parts: readonly (string | undefined)[]): string | undefined {
  if (parts.includes(undefined)) return undefined;
  return texts.map((text, at) => text + (parts[at] ?? '')).join('');
}

/** The plain facts of a report, for kinds without sentences and for who wants to know exactly. */
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
