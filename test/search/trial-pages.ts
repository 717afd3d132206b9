/** Generated pages in many scripts for the tests of search, and functions that store and index them. */
import type { Archive } from '../../src/archive/index.ts';
import { seededRandom, utf8 } from '../../src/base/index.ts';
import { Indexer } from '../../src/search/index.ts';

export type TrialPage = {
  readonly url: string;
  readonly time: number;
  readonly collection: string;
  readonly status: number;
  readonly language: string;
  readonly title: string;
  /** The visible text. */
  readonly paragraphs: readonly string[];
  /** A word that is only in scripts and styles. */
  readonly hidden: string;
  readonly links: readonly string[];
};

function htmlOf(page: TrialPage): string {
  const escaped = (text: string) => text.replace(/[&<>]/g, (sign) => `&#${sign.charCodeAt(0)};`);
  // Writes every second letter beyond ASCII as an entity, which readers do not see.
  const entities = (text: string) =>
    escaped(text).replace(/[^\x00-\x7f]/gu, (sign) =>
      sign.codePointAt(0)! % 2 === 0 ? `&#x${sign.codePointAt(0)!.toString(16)};` : sign,
    );
  const links = page.links.map((url) => `<a href="${url}">go</a>`).join('\n');
  return (
    `<!doctype html><html lang="${page.language}"><head><meta charset=utf-8><title>${entities(page.title)}</title>` +
    `<script>var x = "${page.hidden}";</script><style>.${page.hidden} { color: red }</style></head><body>` +
    `${page.paragraphs.map((text) => `<p>${entities(text)}</p>`).join('\n')}<noscript>${page.hidden}</noscript>${links}</body></html>`
  );
}

export async function storePages(archive: Archive, pages: readonly TrialPage[]): Promise<void> {
  for (const page of pages) {
    const head = `HTTP/1.1 ${page.status} X\r\nContent-Type: text/html\r\n\r\n`;
    const input = {
      kind: 'http',
      url: page.url,
      time: page.time,
      responseHead: utf8(head),
      body: utf8(htmlOf(page)),
    } as const;
    await archive.store(input, { collection: page.collection });
  }
}

export async function indexed(archive: Archive): Promise<Awaited<ReturnType<Indexer['catchUp']>>> {
  const indexer = await Indexer.open(archive);
  try {
    return await indexer.catchUp();
  } finally {
    await indexer.close();
  }
}

const WORDS: Readonly<Record<string, readonly string[]>> = {
  en: ['archive', 'library', 'river', 'Stanford', 'mountain', 'letter', 'winter', 'garden', 'e-mail', "don't"],
  de: ['Bücherei', 'Größe', 'Straße', 'Fluß', 'Gärten', 'Übung', 'weiß'],
  fr: ['café', 'élève', 'naïve', 'où', 'forêt', 'cœur'],
  ru: ['библиотека', 'река', 'город', 'зима', 'письмо'],
  el: ['βιβλιοθήκη', 'ποταμός', 'χειμώνας'],
  hi: ['हिन्दी', 'पुस्तकालय', 'नदी', 'सर्दी'],
  ar: ['مكتبة', 'نهر', 'شتاء'],
  zh: ['图书馆', '河', '冬天', '档案保存', '网页'],
  ja: ['図書館', 'インターネット', 'ページ', '保存', '日本語'],
  ko: ['도서관', '인터넷', '보존'],
  th: ['ห้องสมุด', 'แม่น้ำ'],
};
export const LANGUAGES = Object.keys(WORDS);

/** Pages with words, links and times generated from a seed. Some URLs are captured several times. */
export function trialPages(seed: number, count: number): TrialPage[] {
  const random = seededRandom(seed);
  const pick = <T>(list: readonly T[]) => list[Math.floor(random() * list.length)]!;
  const urls = Array.from(
    { length: Math.ceil(count * 0.7) },
    (_, at) => `http://${pick(['a.example.org', 'b.example.org', 'www.stanford.edu', 'cs.stanford.edu'])}/page/${at}`,
  );
  return Array.from({ length: count }, (_, at) => {
    const language = pick(LANGUAGES);
    const words = WORDS[language]!;
    const isDense = 'zh ja th'.includes(language);
    const sentence = () =>
      Array.from({ length: 3 + Math.floor(random() * 6) }, () => pick(random() < 0.15 ? WORDS.en! : words)).join(
        isDense ? '' : ' ',
      );
    return {
      url: pick(urls),
      time: Date.UTC(
        2020 + Math.floor(random() * 5),
        Math.floor(random() * 12),
        1 + Math.floor(random() * 28),
        0,
        0,
        at % 60,
        at,
      ),
      collection: pick(['news', 'papers']),
      status: pick([200, 200, 200, 404]),
      language,
      title: sentence(),
      paragraphs: Array.from({ length: 4 }, sentence).concat(`number ${at} ${'padding '.repeat(40)}`),
      hidden: pick(['secretscript', 'hiddenstyle', 'invisible']),
      links: Array.from({ length: 3 }, () => pick(urls)),
    };
  });
}

/** A page on its own site, with a given word. */
export function pageWith(name: string, word: string, changes: Partial<TrialPage> = {}): TrialPage {
  return {
    url: `http://${name}.example/`,
    time: Date.UTC(2024, 0, 1),
    collection: 'web',
    status: 200,
    language: 'en',
    title: `Title of ${name}`,
    paragraphs: [`${word} and ${'ordinary words '.repeat(100)}`],
    hidden: 'x',
    links: [],
    ...changes,
  };
}
