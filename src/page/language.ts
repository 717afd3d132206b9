/**
 * The language of a text by its letters and their neighbours, where a page does not name it. The detector's tables are
 * loaded when the first such page comes.
 */

const SAMPLE_LENGTH = 4000;
const SAMPLE_LENGTH_MIN = 20;

type Detector = { detect(text: string): { language: string; isReliable(): boolean } };

let detector: Promise<Detector> | undefined;

/** ISO 639-1 code, or '' when the text says too little. */
export async function detectLanguage(text: string): Promise<string> {
  if (text.length < SAMPLE_LENGTH_MIN) return '';
  detector ??= import('eld/small').then((loaded) => loaded.eld);
  const found = (await detector).detect(text.slice(0, SAMPLE_LENGTH));
  return found.isReliable() ? found.language : '';
}
