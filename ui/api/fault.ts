/** Turns an error of the server into sentences for people in front of a browser. Does not use the browser. */
import type { Fault } from './replies.ts';

/** A fault that the server reports, or a fault of the web interface itself, which may lack advice. */
export type ShownFault = Omit<Fault, 'advice'> & Partial<Pick<Fault, 'advice'>>;

/** Advice for errors that can be fixed here. Most advice of the server is for people at a terminal. */
const ADVICE: Readonly<Record<string, string>> = {
  BAD_ARGUMENT: '',
  CATALOG_DAMAGED: 'Nothing archived is lost. Start the job \u201cRebuild the catalog\u201d.',
  CONTENT_KEY_INVALID: 'A content key looks like main:sha256:9f86d081...',
  CONTENT_MISSING: 'It may have been deleted. Look for it by its address.',
  CRAWL_UNFINISHED: 'In the settings of the crawl, choose to continue the interrupted crawl, or to discard it.',
  CRAWL_UNKNOWN: 'Start a new crawl of the collection first.',
  JOB_MISSING: 'The server forgets jobs that ended long ago.',
  NOT_LINKABLE: 'Add the file without \u201cAdd in place\u201d. Its records are then copied into the archive.',
  NOT_WACZ: 'A WACZ file is a ZIP package of WARC files. Download it again: it may be incomplete.',
  NOT_WARC: 'You can add files that end in .warc, .warc.gz, .warc.zst, .arc, .arc.gz or .wacz.',
};

const OF_THE_API = 'The API is described at /api/openapi.json.';

/** The message as a sentence, without the value that it is about. Typed text is not capitalized. */
export function faultSentence({ code, message, where }: ShownFault): string {
  // The message of a command often begins with a file name, which must not be capitalized.
  if (code === 'COMMAND_FAILED') return message.replace(/^pinakes: /, '');
  const field = fieldOf(where);
  if (field !== undefined && message.startsWith(`${where} `)) return `${field} ${message.slice(where!.length + 1)}.`;
  const prefix = where === undefined ? '' : `${where}: `;
  if (prefix !== '' && message.startsWith(prefix)) return capital(message.slice(prefix.length));
  return where !== undefined && message.startsWith(where) ? message : capital(message);
}

/** The value that the error is about, if the sentence does not contain it. */
export function faultPlace(fault: ShownFault): string | undefined {
  const { where, code } = fault;
  if (where === undefined || code === 'COMMAND_FAILED' || fieldOf(where) !== undefined) return undefined;
  return faultSentence(fault).includes(where) ? undefined : where;
}

/** The form field of a place in a request: `Pages max` for `body/input/pagesMax`. */
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
