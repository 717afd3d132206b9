/**
 * Web pages that compress and differ like real ones: words by Zipf's law, a template per site, links, scripts and
 * attributes. They depend on a seed alone, so that two runs of a bench read the same bytes.
 */
import { type Random, seededRandom } from '../src/base/index.ts';

const SYLLABLES =
  'ba be bi bo bu ca ce ci co da de di do fa fe fi ga ge go ha he hi la le li lo ma me mi mo na ne ni no pa pe po ra re ri ro sa se si so ta te ti to va ve vi za'.split(
    ' ',
  );

export type SamplePage = { readonly url: string; readonly head: string; readonly body: string };

const SITES = 40;

export class SamplePages {
  readonly #random: Random;
  readonly #words: string[];
  readonly #sites: { host: string; template: (title: string, main: string, page: number) => string }[];

  constructor(seed: number) {
    this.#random = seededRandom(seed);
    this.#words = Array.from({ length: 5_000 }, () => this.#word());
    this.#sites = Array.from({ length: SITES }, (_, index) => ({
      host: `www.site${index}.example`,
      template: this.#template(),
    }));
  }

  /** The n-th page: about 15 to 40 KB of HTML. */
  page(number: number): SamplePage {
    const random = this.#random;
    const site = this.#sites[Math.floor(random() * this.#sites.length)]!;
    const paragraphs = 8 + Math.floor(random() * 50);
    let main = '';
    for (let i = 0; i < paragraphs; i++) main += this.#paragraph();
    const body = site.template(this.#text(5), main, number);
    const head =
      'HTTP/1.1 200 OK\r\nDate: Fri, 01 Mar 2024 10:00:00 GMT\r\nServer: nginx/1.24\r\nContent-Type: text/html; charset=utf-8\r\n' +
      `ETag: "${Math.floor(random() * 2 ** 32).toString(16)}"\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n`;
    return { url: `http://${site.host}/${this.#text(2).replaceAll(' ', '-')}/${number}.html`, head, body };
  }

  #word(): string {
    const length = 1 + Math.floor(this.#random() * 4);
    let word = '';
    for (let i = 0; i < length; i++) word += SYLLABLES[Math.floor(this.#random() * SYLLABLES.length)];
    return word;
  }

  #text(words: number): string {
    const chosen: string[] = [];
    for (let i = 0; i < words; i++)
      chosen.push(this.#words[Math.floor(this.#words.length ** this.#random()) - 1] ?? 'a');
    return chosen.join(' ');
  }

  #paragraph(): string {
    const random = this.#random;
    const number = Math.floor(random() * 100_000);
    const link = `/${this.#text(1)}/${this.#text(1)}/${number}.html`;
    const sentences = Array.from(
      { length: 1 + Math.floor(random() * 4) },
      () => `${this.#text(5 + Math.floor(random() * 10))}.`,
    );
    return (
      `      <article class="teaser teaser--standard" data-teaser-id="${number}">\n` +
      `        <h3 class="teaser__title"><a class="teaser__link link link--primary" href="${link}">${this.#text(4)}</a></h3>\n` +
      `        <p class="teaser__text paragraph paragraph--small">${sentences.join(' ')}</p>\n` +
      `        <a class="teaser__more button button--secondary" href="${link}#more" aria-label="Read more">Read more</a>\n` +
      '      </article>\n'
    );
  }

  #template(): (title: string, main: string, page: number) => string {
    const menu = Array.from(
      { length: 25 },
      () => `<li class="menu-item"><a href="/${this.#text(2).replaceAll(' ', '/')}/">${this.#text(2)}</a></li>`,
    );
    const style = Array.from(
      { length: 40 },
      () =>
        `.${this.#text(1)} { margin: ${Math.floor(this.#random() * 40)}px; color: #${Math.floor(this.#random() * 2 ** 24).toString(16)}; }`,
    );
    const script = `window.settings = ${JSON.stringify(Object.fromEntries(Array.from({ length: 40 }, () => [this.#text(1), this.#random()])))};`;
    return (title, main, page) =>
      `<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>${title}</title>\n<style>\n${style.join('\n')}\n</style>\n` +
      `<script>${script}</script>\n</head>\n<body class="page-${page}">\n<ul class="menu">\n${menu.join('\n')}\n</ul>\n<main>\n<h1>${title}</h1>\n${main}</main>\n</body>\n</html>\n`;
  }
}
