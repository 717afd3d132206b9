/**
 * Shows host names in their own script: `xn--mnchen-3ya.de` becomes `münchen.de`. A label is decoded only if readers
 * cannot mistake it for another name. It stays as it is when:
 * - it mixes scripts;
 * - all of its letters look like Latin ones;
 * - it has letters that no modern language uses, which readers do not know;
 * - it is written from right to left, which would reorder the text around it.
 */

/** The letters that one label may have, besides digits and dashes. */
const SCRIPTS: readonly RegExp[] = [
  // Without the dotless i, and the q of Greenlandic that looks like k.
  'a-z\\u00df-\\u00f6\\u00f8-\\u0130\\u0132-\\u0137\\u0139-\\u017e',
  '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\u30fc',
  // Whole syllables.
  '\\uac00-\\ud7a3',
  '\\p{Script=Devanagari}',
  '\\p{Script=Bengali}',
  '\\p{Script=Tamil}',
  '\\p{Script=Thai}',
  '\\u0430-\\u045f\\u048a-\\u052f',
  '\\u0390\\u03ac-\\u03ce',
].map((letters) => new RegExp(`^[-0-9${letters}]+$`, 'u'));
/** Cyrillic and Greek letters that look like Latin ones. */
const ALIKE = /^[-0-9аысԁеԍһіюјӏорԗԛѕԝхуүъьҽпгαγηικνορστυχω]+$/;
/** Only ASCII digits: digits of other scripts can look like different ASCII digits, or like letters. */
const LETTERS = /^[-0-9\p{L}\p{M}]+$/u;

/** A label has at most 63 characters. */
const LABEL = /(^|[.@])(xn--[-a-z0-9]{1,59})(?![^.:])/gi;

export function readableHost(host: string): string {
  return host.replace(LABEL, (_, before: string, label: string) => {
    const letters = lettersOf(label.slice('xn--'.length).toLowerCase());
    const isClear = LETTERS.test(letters) && !ALIKE.test(letters) && SCRIPTS.some((script) => script.test(letters));
    return before + (isClear && isNameOf(letters, label) ? letters : label);
  });
}

/** True if a browser encodes the letters to this label again. Some labels are not the encoding of any letters. */
function isNameOf(letters: string, label: string): boolean {
  try {
    return new URL(`http://${letters}/`).hostname === label.toLowerCase();
  } catch {
    return false;
  }
}

/** Decodes a Punycode label (RFC 3492, section 6.2). Returns '' if the label is invalid. */
function lettersOf(label: string): string {
  const dash = label.lastIndexOf('-');
  const letters = [...label.slice(0, Math.max(0, dash))];
  let [code, place, bias] = [128, 0, 72];
  for (let at = dash + 1; at < label.length; ) {
    const before = place;
    for (let weight = 1, k = 36; ; k += 36) {
      const digit = (Number.parseInt(label[at++] ?? '', 36) + 26) % 36;
      place += digit * weight;
      const threshold = Math.min(Math.max(k - bias, 1), 26);
      // Also ends the loop when the character is not a digit (NaN).
      if (!(digit >= threshold)) break;
      weight *= 36 - threshold;
    }
    const count = letters.length + 1;
    bias = nextBias(place - before, count, before === 0);
    code += Math.floor(place / count);
    place %= count;
    if (!(code <= 0x10ffff)) return '';
    letters.splice(place++, 0, String.fromCodePoint(code));
  }
  return letters.join('');
}

function nextBias(step: number, count: number, isFirst: boolean): number {
  let rest = Math.floor(step / (isFirst ? 700 : 2));
  rest += Math.floor(rest / count);
  let k = 0;
  for (; rest > 455; k += 36) rest = Math.floor(rest / 35);
  return k + Math.floor((36 * rest) / (rest + 38));
}
