/**
 * The receipt of a takedown: one page of HTML to print or send, for the person or institution whose rights it serves.
 * It has no scripts and loads nothing. It says what was removed, when and why, what was searched, and how to check it.
 */
import type { TakedownRecord } from '../takedown/takedown-records.ts';

/** More are counted, so that the receipt stays short. */
const LISTED_MAX = 40;

export function formatReceipt(takedown: TakedownRecord): string {
  const { id, archive, time, by, reason, captures, contents, urls, listed, end, search } = takedown;
  const { kept, digest, key, problem, segments } = takedown;
  const addresses = [...new Set(listed.map(({ url }) => url))];
  const done = end
    ? `This was carried out on ${dateOf(end.time)}. ${many(end.captures, 'capture')} ${end.captures === 1 ? 'was' : 'were'} removed.`
    : 'This has not been completed yet. The archive will complete it.';
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>Confirmation of removal no. ${id}, ${text(archive)}</title>
<style>
body { font: 1rem/1.5 Georgia, 'Times New Roman', serif; color: #1a1a1a; max-width: 42rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; font-weight: normal; margin: 0 0 .25rem; }
h2 { font-size: 1rem; margin: 1.5rem 0 .25rem; }
p, dl, ul { margin: .5rem 0; }
dt { font-style: italic; }
dd { margin: 0 0 .5rem; }
.place { color: #555; margin: 0 0 1.5rem; }
.mono { font: .8rem/1.4 ui-monospace, Menlo, Consolas, monospace; overflow-wrap: anywhere; }
ul { padding-left: 1.2rem; }
@media print { body { margin: 0; max-width: none; font-size: 10.5pt; } @page { margin: 2cm; } }
</style>
</head>
<body>
<h1>Confirmation of removal</h1>
<p class="place">${text(archive)}, no. ${id}</p>
<p>On ${dateOf(time)}, the material described below was withdrawn from the web archive “${text(archive)}”. ${done}
The archive has also been instructed not to take this material in again.</p>
<h2>Reason</h2>
<p>${text(reason)}</p>
<h2>What was withdrawn</h2>
<p>${withdrawn(captures, addresses.length, contents.length, urls.length)}</p>
${list(addresses)}
${kept.length > 0 ? `<p>${many(kept.length, 'content')} of these captures ${kept.length === 1 ? 'is' : 'are'} also kept under other addresses, which this request did not name.</p>` : ''}
<h2>What was examined</h2>
<p>${examined(search)}</p>
<h2>For your records</h2>
<dl>
<dt>Entered by</dt><dd>${text(by)}, ${dateOf(time)}</dd>
<dt>Files of the archive concerned</dt><dd>${many(segments.length, 'file')}</dd>
${contents.length > 0 ? `<dt>Fingerprints of the contents (these do not allow the contents to be restored)</dt><dd class="mono">${contents.slice(0, LISTED_MAX).map(text).join('<br>')}${more(contents.length)}</dd>` : ''}
<dt>Digest of this entry in the archive’s log of removals (SHA-256)</dt><dd class="mono">${digest}</dd>
${search ? `<dt>Digest of the statement about the examination (entry ${search.id})</dt><dd class="mono">${search.digest}</dd>` : ''}
<dt>Signed with the key</dt><dd class="mono">${key ?? 'none'}</dd>
${problem === undefined ? '' : `<dt>Remark</dt><dd>The signature of this entry could not be confirmed: ${text(problem)}.</dd>`}
</dl>
<p>Every entry of the log is signed and refers to the one before it, so a later change to this record can be detected.</p>
</body>
</html>
`;
}

function withdrawn(captures: number, addresses: number, contents: number, urls: number): string {
  const parts = [
    `${many(captures, 'capture')}${addresses > 0 ? ` of ${many(addresses, 'address', 'addresses')}` : ''}.`,
  ];
  if (contents > 0) parts.push(`${many(contents, 'content')} may not be stored again under any address.`);
  if (urls > 0) parts.push(`Nothing may be stored again under ${many(urls, 'address', 'addresses')}.`);
  return parts.join(' ');
}

function examined(search: TakedownRecord['search']): string {
  if (!search) return 'The files of the archive have not been examined yet since the removal.';
  const { places, found, unsearched, time, isGone } = search;
  const files = places.reduce((sum, place) => sum + place.files, 0);
  const records = places.reduce((sum, place) => sum + place.records, 0);
  const where = `On ${dateOf(time)}, ${many(files, 'file')} with ${many(records, 'record')} in ${many(places.length, 'place')} were read in full`;
  if (isGone)
    return `${where} (${text(places.map(({ place }) => place).join('; '))}). Nothing of the material was found.`;
  const rest = [
    found > 0 ? `${many(found, 'trace')} of the material ${found === 1 ? 'was' : 'were'} still found.` : '',
    unsearched.length > 0 ? `${many(unsearched.length, 'place')} could not be read.` : '',
    'The removal is not complete yet.',
  ];
  return `${where}. ${rest.filter((part) => part !== '').join(' ')}`;
}

function list(addresses: readonly string[]): string {
  if (addresses.length === 0) return '';
  const items = addresses.slice(0, LISTED_MAX).map((url) => `<li class="mono">${text(url)}</li>`);
  return `<ul>${items.join('')}</ul>${more(addresses.length)}`;
}

function more(count: number): string {
  return count > LISTED_MAX ? `<p>and ${count - LISTED_MAX} more, which the archive’s log lists.</p>` : '';
}

function many(count: number, one: string, several = `${one}s`): string {
  return `${count.toLocaleString('en')} ${count === 1 ? one : several}`;
}

/** `3 March 2026, 12:00 UTC` of a W3C date. */
function dateOf(w3c: string): string {
  const at = new Date(w3c);
  const day = at.toLocaleDateString('en-GB', { day: 'numeric', month: 'long', year: 'numeric', timeZone: 'UTC' });
  return `${day}, ${at.toISOString().slice(11, 16)} UTC`;
}

function text(value: string): string {
  return value
    .replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
    .replace(/\p{Cc}|\p{Bidi_Control}/gu, (character) => (character === '\n' ? '<br>' : '\u{FFFD}'));
}
