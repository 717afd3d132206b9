/**
 * Detects the language of a page that does not declare it, from the sequences of letters in its text. The tables of the
 * detector are loaded when it is first used.
 */
const SAMPLE_LENGTH = 4000;
const SAMPLE_LENGTH_MIN = 20;

type Detector = { detect(text: string): { language: string; isReliable(): boolean } };

let detector: Promise<Detector> | undefined;

/** An ISO 639-1 code, or '' if the text is too short or unclear. */
export async function detectLanguage(text: string): Promise<string> {
  if (text.length < SAMPLE_LENGTH_MIN) return '';
  detector ??= import('eld/small').then((loaded) => loaded.eld);
  const found = (await detector).detect(text.slice(0, SAMPLE_LENGTH));
  return found.isReliable() ? found.language : '';
}
