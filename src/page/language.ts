/**
 * Detects the language of a text from its sequences of letters, for pages that do not declare it. The tables of the
 * detector are loaded for the first such page.
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
