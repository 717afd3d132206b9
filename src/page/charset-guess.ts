/**
 * Guesses the charset of a text that does not declare it. Text that is valid UTF-8 or plain ASCII counts as UTF-8. A
 * zero in nearly every second byte means UTF-16. Otherwise each legacy charset is tried on a sample, and the most
 * readable result wins: runs of letters of one script score well; undefined bytes, controls, rare symbols and capitals
 * inside words score badly.
 */
import { isUtf8 } from 'node:buffer';

const SAMPLE_BYTES = 16 * 1024;

const CANDIDATES = [
  'windows-1252',
  'windows-1251',
  'koi8-u',
  'windows-1250',
  'windows-1253',
  'windows-1255',
  'windows-1256',
  'windows-874',
  'shift_jis',
  'euc-jp',
  'gb18030',
  'big5',
  'euc-kr',
] as const;

export function guessCharset(bytes: Uint8Array): string {
  const utf16 = guessUtf16(bytes);
  if (utf16 !== undefined) return utf16;
  if (hasIso2022(bytes)) return 'iso-2022-jp';
  if (mayBeUtf8(bytes)) return 'utf-8';
  const sample = sampleOf(bytes);
  let best: { charset: string; score: number } = { charset: 'windows-1252', score: Number.NEGATIVE_INFINITY };
  for (const charset of CANDIDATES) {
    const score = readability(new TextDecoder(charset).decode(sample), charset);
    if (score > best.score) best = { charset, score };
  }
  return best.charset;
}

/** Markup in UTF-16 has a zero in nearly every second byte of its first letters. */
function guessUtf16(bytes: Uint8Array): string | undefined {
  const length = Math.min(bytes.length, 512) & ~1;
  if (length < 8) return undefined;
  let even = 0;
  let odd = 0;
  for (let at = 0; at < length; at += 2) {
    if (bytes[at] === 0) even++;
    if (bytes[at + 1] === 0) odd++;
  }
  if (odd > length * 0.35 && even === 0) return 'utf-16le';
  return even > length * 0.35 && odd === 0 ? 'utf-16be' : undefined;
}

/** True if a text has an escape sequence of ISO-2022-JP and no bytes beyond ASCII. */
function hasIso2022(bytes: Uint8Array): boolean {
  let isFound = false;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!;
    if (byte >= 0x80) return false;
    if (byte === 0x1b && bytes[at + 1] === 0x24 && (bytes[at + 2] === 0x42 || bytes[at + 2] === 0x40)) isFound = true;
  }
  return isFound;
}

/** True if the start of a text is valid UTF-8. Its last character may be cut. */
export function mayBeUtf8(start: Uint8Array): boolean {
  return isUtf8(withoutIncompleteEnd(start));
}

/** Removes an incomplete character at the end. */
function withoutIncompleteEnd(bytes: Uint8Array): Uint8Array {
  let end = bytes.length;
  for (let back = 1; back <= 3 && back <= bytes.length; back++) {
    const byte = bytes[bytes.length - back]!;
    if (byte < 0x80) break;
    if (byte >= 0xc0) {
      const needed = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
      if (needed > back) end = bytes.length - back;
      break;
    }
  }
  return end === bytes.length ? bytes : bytes.subarray(0, end);
}

/** The parts of a text with bytes beyond ASCII, because ASCII markup gives no hint about the charset. */
function sampleOf(bytes: Uint8Array): Uint8Array {
  const sample = new Uint8Array(SAMPLE_BYTES);
  let length = 0;
  let at = 0;
  while (at < bytes.length && length < SAMPLE_BYTES) {
    while (at < bytes.length && bytes[at]! < 0x80) at++;
    // Include the letters before the first high byte, which belong to the same word.
    let from = at;
    while (from > 0 && at - from < 8 && isLetter(bytes[from - 1]!)) from--;
    let quiet = 0;
    while (at < bytes.length && quiet < 3) quiet = bytes[at++]! < 0x80 ? quiet + 1 : 0;
    const piece = bytes.subarray(from, Math.min(at, from + SAMPLE_BYTES - length));
    sample.set(piece, length);
    length += piece.length;
  }
  return sample.subarray(0, length);
}

function isLetter(byte: number): boolean {
  return (byte >= 0x41 && byte <= 0x5a) || (byte >= 0x61 && byte <= 0x7a);
}

/** The score of a charset: the sum over the characters of the decoded sample. */
function readability(text: string, charset: string): number {
  let score = 0;
  let previous = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code >= 0x80) score += scoreOf(code, previous, charset);
    else if (previous >= 0x80 && code >= 0x41 && code <= 0x5a && isLower(previous)) score -= 1;
    previous = code;
  }
  return score;
}

/** A range of Unicode code units; `to` is excluded. */
type Range = readonly [from: number, to: number];

const CONTROLS: Range = [0x80, 0xa0];
const LATIN: Range = [0xc0, 0x250];
const GREEK: Range = [0x370, 0x400];
const CYRILLIC: Range = [0x400, 0x530];
const HEBREW: Range = [0x590, 0x600];
const ARABIC: Range = [0x600, 0x700];
const THAI: Range = [0xe00, 0xe80];
const DASHES_AND_QUOTES: Range = [0x2010, 0x2030];
const EAST_ASIAN_PUNCTUATION: Range = [0x3000, 0x3020];
const KANA: Range = [0x3040, 0x3100];
const HAN: Range = [0x4e00, 0xa000];
const HANGUL: Range = [0xac00, 0xd7a4];
const PRIVATE_USE: Range = [0xe000, 0xf900];
const FULL_WIDTH: Range = [0xff00, 0xff61];
const HALF_WIDTH_KANA: Range = [0xff61, 0xffa0];

const REPLACEMENT = 0xfffd;
const TIMES = 0xd7;
const DIVIDED_BY = 0xf7;
/** No-break space, copyright, and the two guillemets. */
const COMMON_SYMBOLS: ReadonlySet<number> = new Set([0xa0, 0xa9, 0xab, 0xbb]);

/** This is called a dozen times for every character. Destructuring the range would double the time of a guess. */
function isIn(range: Range, code: number): boolean {
  return code >= range[0] && code < range[1];
}

/**
 * The score of one character. Characters of two bytes count twice, so that the scores of all charsets can be compared.
 */
function scoreOf(code: number, previous: number, charset: string): number {
  if (code === REPLACEMENT || isIn(CONTROLS, code)) return -20;
  if (isIn(PRIVATE_USE, code)) return -10;
  if (isIn(KANA, code)) return charset === 'shift_jis' || charset === 'euc-jp' ? 3.2 : -1;
  if (isIn(HALF_WIDTH_KANA, code)) return -1;
  if (isIn(HANGUL, code)) return 2.6;
  if (isIn(HAN, code)) return isCommonHan(code, charset) ? 2.2 : 0.6;
  if (isIn(EAST_ASIAN_PUNCTUATION, code)) return 2.2;
  if (isIn(FULL_WIDTH, code)) return 1.8;
  if (isIn(CYRILLIC, code)) return cyrillicScore(code, previous);
  if (isIn(GREEK, code)) return greekScore(code, previous);
  if (isIn(HEBREW, code)) return isIn(HEBREW, previous) ? 1.3 : 0.3;
  if (isIn(ARABIC, code)) return isIn(ARABIC, previous) ? 1.1 : 0.2;
  if (isIn(THAI, code)) return isIn(THAI, previous) ? 1.1 : 0.2;
  if (isIn(LATIN, code) && code !== TIMES && code !== DIVIDED_BY) return latinScore(code, previous);
  return COMMON_SYMBOLS.has(code) || isIn(DASHES_AND_QUOTES, code) ? 0.4 : -0.6;
}

function cyrillicScore(code: number, previous: number): number {
  if (code < 0x410 || code > 0x44f)
    return code === 0x401 || code === 0x451 || (code >= 0x454 && code <= 0x457) ? 0.8 : -0.2;
  if (previous < 0x410 || previous > 0x44f) return 0.6;
  // Capitals after small letters are typical of KOI8 text read as windows-1251, and of windows-1251 text read as KOI8.
  return code < 0x430 && previous >= 0x430 ? -1 : 1.2;
}

function greekScore(code: number, previous: number): number {
  if (!isIn(GREEK, previous)) return 0.3;
  return !isLower(code) && isLower(previous) ? -1 : 1.15;
}

/** Accented letters occur singly, between plain letters. */
function latinScore(code: number, previous: number): number {
  const isPlainBefore = previous < 0x80;
  const isCapitalInside = !isLower(code) && previous >= 0x61 && previous <= 0x7a;
  if (isCapitalInside) return -1.5;
  return isPlainBefore ? (code < 0x100 ? 1 : 0.95) : -0.8;
}

function isLower(code: number): boolean {
  const letter = String.fromCharCode(code);
  return letter === letter.toLowerCase() && letter !== letter.toUpperCase();
}

/** The most common characters of each script, which are rare in wrongly decoded text. */
const COMMON_SIMPLIFIED =
  '的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家种事成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实日军者意无力它与长把机十民第公此已工使情明性知全三又关点正业外将两高间由问很最重并物手应战向头文体政美相见被利什二等产或新己制身果加西斯月话合回特代内信表化老给世位次度门任常先海通教儿原东声提立及比员解水名真论处走义各入几口认条平系气题活尔更别打女变四神总何电数安少报才结反受目太量再感建务做接必场件计管期市直德资命山金指克许统区保至队形社便空决治展马科司五基眼书非则听白却界达光放强即像难且权思王象完设式色路记南品住告类求据程北边死张该交规万取拉格望觉术领共确传师观清今切院让识候带导争运';
const COMMON_TRADITIONAL =
  '的一是不了在人有我他這個們中來上大為和國地到以說時要就出會可也你對生能而子那得於著下自之年過發後作裡用道行所然家種事成方多經麼去法學如都同現當沒動面起看定天分還進好小部其些主樣理心她本前開但因只從想實日軍者意無力它與長把機十民第公此已工使情明性知全三又關點正業外將兩高間由問很最重並物手應戰向頭文體政美相見被利什二等產或新己制身果加西斯月話合回特代內信表化老給世位次度門任常先海通教兒原東聲提立及比員解水名真論處走義各入幾口認條平系氣題活爾更別打女變四神總何電數安少報才結反受目太量再感建務做接必場件計管期市直德資命山金指克許統區保至隊形社便空決治展馬科司五基眼書非則聽白卻界達光放強即像難且權思王象完設式色路記南品住告類求據程北邊死張該交規萬取拉格望覺術領共確傳師觀清今切院讓識候帶導爭運';
const COMMON_JAPANESE =
  '日一国会人年大十二本中長出三同時政事自行社見月分議後前民生連五発間対上部東者党地合市業内相方四定今回新場金員九入選立開手米力学問高代明実円関決子動京全目表戦経通外最言氏現理調体化田当八六約主題下首意法不来作性的要用制治度務強気小七成期公野協取都和統以機平総加山思家話世受区領多県続進正安設保改数記院女初北午指権心界支第産結百派点教報済書府活原先共得解名交資予川向際査勝面委告軍文反元重近千考判認画海参売利組知案道信策集在件団別物側任引使求所次水半品昨論計死官増係感特情投示変打男基私各始島直両朝革価式確村提運終挙果西勢減台広容必応演電歳住争談能無再位置企真流格有疑口過局少放税検藤町常校料沢裁状工建語球営空職証土与急止送援供可役構木割聞身費付施切由説転食比難防補車優夫研収断井何南石足違消境神番規術護展態導鮮備宅害配副算視条幹独警宮究育席輸訪楽起万着乗店述残想線率病農州武声質念待試族象銀域助労例衛然早張映限親額監環験追審商葉義伝働形景落欧担好退準賞訴辺造英被株頭技低毛医復仕去姿味負閣韓渡失移差衆個門写評課末守若脳極種美岡影命含福蔵量望松非撃佐核観察整段横融型白深字答夜製票況音申様財港識注呼渉達';

const COMMON: Readonly<Record<string, Set<number>>> = {
  gb18030: codes(COMMON_SIMPLIFIED),
  big5: codes(COMMON_TRADITIONAL),
  shift_jis: codes(COMMON_JAPANESE),
  'euc-jp': codes(COMMON_JAPANESE),
};

function codes(text: string): Set<number> {
  return new Set(Array.from(text, (character) => character.charCodeAt(0)));
}

function isCommonHan(code: number, charset: string): boolean {
  return COMMON[charset]?.has(code) ?? false;
}
