/** What the server says of a failure, in words for who sits in front of a browser. Knows nothing of the browser. */
import type { Fault } from './replies.ts';

/** A fault that the server reports, or one of the page itself, which may lack advice. */
export type ShownFault = Omit<Fault, 'advice'> & Partial<Pick<Fault, 'advice'>>;

/** The server's advice is for people at a terminal in most cases; these failures can be mended here. */
const ADVICE: Readonly<Record<string, string>> = {
  BAD_ARGUMENT: '',
  CATALOG_DAMAGED: 'Nothing archived is lost. \u201cRebuild the catalog\u201d among the jobs makes it again.',
  CONTENT_KEY_INVALID: 'A content key looks like main:sha256:9f86d081...',
  CONTENT_MISSING: 'It may have been deleted. Look for it by its address.',
  CRAWL_UNFINISHED:
    'Among the settings of a crawl, choose to go on with the one that was interrupted, or to forget what it had still to do.',
  CRAWL_UNKNOWN: 'Crawl it first, with pages to begin with.',
  JOB_MISSING: 'Jobs that ended long ago are forgotten.',
  NOT_LINKABLE: 'Add it without leaving it where it is; its records are then copied into the archive.',
  NOT_WACZ:
    'A WACZ file is a ZIP package with WARC files in it. Get it again from its source: it may have been cut off.',
  NOT_WARC: 'Files that end in .warc, .warc.gz, .warc.zst, .arc, .arc.gz or .wacz can be added.',
};

const OF_THE_API = 'The API is described at /api/openapi.json.';

/** A sentence of its own: the place, which is somebody else's words, is left out of it and not given a capital. */
export function faultSentence({ code, message, where }: ShownFault): string {
  // What a command printed begins with names of files as often as with words.
  if (code === 'COMMAND_FAILED') return message.replace(/^pinakes: /, '');
  const field = fieldOf(where);
  if (field !== undefined && message.startsWith(`${where} `)) return `${field} ${message.slice(where!.length + 1)}.`;
  const prefix = where === undefined ? '' : `${where}: `;
  if (prefix !== '' && message.startsWith(prefix)) return capital(message.slice(prefix.length));
  return where !== undefined && message.startsWith(where) ? message : capital(message);
}

/** The place, where the sentence does not name it. */
export function faultPlace(fault: ShownFault): string | undefined {
  const { where, code } = fault;
  if (where === undefined || code === 'COMMAND_FAILED' || fieldOf(where) !== undefined) return undefined;
  return faultSentence(fault).includes(where) ? undefined : where;
}

/** The field of a form that a place in a request stands for: `body/input/pagesMax` is `Pages max`. */
function fieldOf(where: string | undefined): string | undefined {
  const [, name] = /^(?:body|query)\/(?:\w+\/)*(\w+)$/.exec(where ?? '') ?? [];
  if (name === undefined) return undefined;
  return capital(
    name.replace(/([a-z])([A-Z])/g, (_, before: string, after: string) => `${before} ${after.toLowerCase()}`),
  );
}

export function faultAdvice({ code, advice }: ShownFault): string | undefined {
  const known = ADVICE[code] ?? (advice === OF_THE_API ? '' : advice);
  return known === '' ? undefined : known;
}

function capital(sentence: string): string {
  return sentence.charAt(0).toUpperCase() + sentence.slice(1);
}
