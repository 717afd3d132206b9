/** The captures of the cluster trial, by number. Two in five have a content that those of other writers have too. */
import { contentOf, NOON, page } from '../archive/trial-archive.ts';

const BLOCK = 20;

/** The shared ones of a block of 20 captures have one content, and all writers store it at about the same moment. */
export function contentName(number: number): string {
  return number % 5 < 2 ? `shared ${Math.floor(number / BLOCK)}` : `own ${number}`;
}

export function bodyOf(number: number): Uint8Array {
  return contentOf(contentName(number), 2100);
}

export function urlOf(number: number): string {
  return `http://s${number % 50}.example/${number}`;
}

export function numberOf(url: string): number {
  return Number(url.slice(url.lastIndexOf('/') + 1));
}

export function pageOf(number: number) {
  return page(urlOf(number), NOON + number * 1000, bodyOf(number));
}

export function isTakenDown(number: number): boolean {
  return number % 1999 === 1005;
}

export function isDeleted(number: number): boolean {
  return number % 17 === 3 && !isTakenDown(number);
}
