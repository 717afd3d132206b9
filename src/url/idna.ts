/**
 * Internationalised host names as ASCII, label by label, through the platform (UTS 46).
 *
 * The keys of the Internet Archive are made with the older IDNA 2003. The two standards differ in four characters.
 * These are mapped as in IDNA 2003 before the platform sees them, so that `fa\u00df.de` keeps the key that it has in
 * existing indexes.
 */
import { domainToASCII } from 'node:url';
import { isAscii } from './percent.ts';

const LABEL_CHARACTERS_MAX = 63;

/** A label longer than this in Unicode cannot become a legal label, so the platform need not try. */
const UNICODE_LABEL_CHARACTERS_MAX = 255;

const LABEL_SEPARATOR = /[.\u3002\uff0e\uff61]/;

const REPLACEMENT_BYTES = '\xef\xbf\xbd';

/**
 * The ASCII form of a host given as a byte string of UTF-8; undefined when it has none. Bytes that are not UTF-8 are
 * dropped, as the Internet Archive does.
 */
export function idnaHost(bytes: string): string | undefined {
  // U+FFFD is prohibited in host names, whether it was written as such or stands for damage.
  if (bytes.includes(REPLACEMENT_BYTES)) return undefined;
  const text = Buffer.from(bytes, 'latin1').toString('utf8').replaceAll('\ufffd', '');
  const labels = text.split(LABEL_SEPARATOR);
  const last = labels.length - 1;
  const ascii: string[] = [];
  for (const [index, label] of labels.entries()) {
    const converted = isAscii(label) ? label : idnaLabel(label);
    if (converted === undefined || converted.length > LABEL_CHARACTERS_MAX) return undefined;
    if (converted === '' && index !== last) return undefined;
    ascii.push(converted);
  }
  return ascii.join('.');
}

function idnaLabel(label: string): string | undefined {
  if (label.length > UNICODE_LABEL_CHARACTERS_MAX) return undefined;
  const mapped = label
    .normalize('NFKC')
    .replace(/[\u200c\u200d]/g, '')
    .replaceAll('\u00df', 'ss')
    .replaceAll('\u03c2', '\u03c3');
  if (mapped === '') return undefined;
  if (isAscii(mapped)) return mapped;
  // The second label keeps the platform from reading a label of digits in another script as an IPv4 address.
  const domain = domainToASCII(`${mapped}.a`);
  return domain.endsWith('.a') && domain.length > 2 ? domain.slice(0, -2) : undefined;
}
