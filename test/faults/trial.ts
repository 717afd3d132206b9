/** Captures that are determined by their number, so that a parent knows the captures that a killed child stored. */
import { contentOf, NOON } from '../archive/trial-archive.ts';

export type Trial = { readonly number: number; readonly url: string; readonly time: number; readonly content: number };

const CONTENTS = 40;

export function trialOf(number: number): Trial {
  const content = (number * 7919) % CONTENTS;
  return { number, url: `http://k${number % 5}.example/${number}`, time: NOON + number * 1000, content };
}

export function numberOf(url: string): number {
  return Number(new URL(url).pathname.slice(1));
}

/** Some bodies are too small for a revisit. */
export function bodyOf({ content }: Trial): Uint8Array {
  return contentOf(`kill ${content}`, content % 8 === 0 ? 300 : 1200 + content * 20);
}
