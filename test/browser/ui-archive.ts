/**
 * An archive for the tests of the UI: the site of a small library, crawled four times in three years. Some pages change
 * with every crawl, some never. One page disappears, one moves. For ten days the front page is captured daily.
 */
import type { Archive } from '../../src/archive/index.ts';
import { utf8 } from '../../src/base/index.ts';

export const SITE = 'http://library.example/';

const CRAWLS = [
  { collection: 'library-2022', time: Date.UTC(2022, 4, 10, 9, 30) },
  { collection: 'library-2023-spring', time: Date.UTC(2023, 2, 21, 14, 5) },
  { collection: 'library-2023-autumn', time: Date.UTC(2023, 9, 4, 8, 0) },
  { collection: 'library-2024', time: Date.UTC(2024, 1, 29, 16, 45) },
] as const;

const WATCH_FROM = Date.UTC(2024, 2, 1, 6);
const DAY_MS = 86_400_000;

/** The versions of the daily front page. Equal numbers in a row are unchanged captures. */
const WATCHED_NEWS = [5, 5, 5, 6, 6, 7, 7, 7, 7, 8];

const READING_ROOMS = ['Maps and atlases', 'Manuscripts', 'Newspapers', 'Music', 'Rare books', 'Children'];

const PARAGRAPH =
  'The reading room is open to everybody who brings an interest and clean hands. Books are fetched from the stacks twice an hour; what was asked for by noon lies ready by one.';

type Answer = { readonly status: number; readonly mime: string; readonly body: string; readonly location?: string };

function html(title: string, body: string): Answer {
  const head = `<meta charset="utf-8"><title>${title}</title><link rel="stylesheet" href="/style.css"><script src="/menu.js"></script>`;
  return {
    status: 200,
    mime: 'text/html; charset=utf-8',
    body: `<!doctype html>\n<html lang="en">\n<head>${head}</head>\n<body>\n<h1>${title}</h1>\n${body}\n</body>\n</html>\n`,
  };
}

function frontPage(crawl: number): Answer {
  const rooms = READING_ROOMS.slice(0, 3 + Math.min(crawl, 3));
  const links = rooms.map((room, index) => `<li><a href="/rooms/${index}.html">${room}</a></li>`);
  return html(
    'The library at the harbour',
    [
      '<img src="/plan.svg" alt="Plan of the house" width="320">',
      `<p>News no. ${crawl + 1}: the catalogue has ${12_000 + 350 * crawl} volumes.</p>`,
      `<p>${PARAGRAPH}</p>`,
      ...(crawl % 2 === 1 ? ['<p>The lift is out of order. Please ask at the desk.</p>'] : []),
      `<ul>\n${links.join('\n')}\n</ul>`,
      '<p><a href="/about.html">About us</a> <a href="/elsewhere">Elsewhere</a> <a href="/gone.html">Opening hours</a></p>',
    ].join('\n'),
  );
}

function site(crawl: number): Map<string, Answer> {
  const pages = new Map<string, Answer>();
  pages.set('', frontPage(crawl));
  pages.set('about.html', html('About us', `<p>${PARAGRAPH}</p>\n`.repeat(8)));
  READING_ROOMS.forEach((room, index) => {
    const edition = index % 2 === 0 ? 0 : crawl;
    const shelves = Array.from(
      { length: 30 },
      (_, shelf) => `<li>Shelf ${shelf + 1}: ${room}, edition ${edition}</li>`,
    );
    pages.set(`rooms/${index}.html`, html(room, `<p>${PARAGRAPH}</p>\n<ul>\n${shelves.join('\n')}\n</ul>`));
  });
  const colour = crawl < 2 ? '#274c77' : '#7a3b1d';
  const style = `body { font: 18px/1.6 Georgia, serif; margin: 3rem auto; max-width: 40rem; color: #222 }\nh1 { color: ${colour} }\n`;
  pages.set('style.css', { status: 200, mime: 'text/css', body: style + '/* room for what comes */\n'.repeat(40) });
  const script = `document.documentElement.dataset.menu = 'ready';\n`;
  pages.set('menu.js', {
    status: 200,
    mime: 'text/javascript',
    body: script + '// nothing more is needed\n'.repeat(60),
  });
  const rooms = Array.from(
    { length: 40 },
    (_, index) =>
      `<rect x="${(index % 8) * 40}" y="${Math.floor(index / 8) * 40}" width="34" height="34" fill="${colour}"/>`,
  );
  pages.set('plan.svg', {
    status: 200,
    mime: 'image/svg+xml',
    body: `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 320 200">${rooms.join('')}</svg>`,
  });
  const gone = crawl < 2 ? html('Opening hours', `<p>${PARAGRAPH}</p>\n`.repeat(9)) : html('Not found', '<p>Gone.</p>');
  pages.set('gone.html', crawl < 2 ? gone : { ...gone, status: 404 });
  pages.set('elsewhere', { status: 301, mime: 'text/html', body: '', location: `${SITE}about.html` });
  return pages;
}

async function store(archive: Archive, url: string, time: number, answer: Answer, collection: string): Promise<void> {
  const head = [
    `HTTP/1.1 ${answer.status} ${answer.status === 200 ? 'OK' : 'Other'}`,
    `Content-Type: ${answer.mime}`,
    `Date: ${new Date(time).toUTCString()}`,
    'Server: shelf/1.0',
    ...(answer.location ? [`Location: ${answer.location}`] : []),
    '',
    '',
  ].join('\r\n');
  await archive.store({ kind: 'http', url, time, responseHead: utf8(head), body: utf8(answer.body) }, { collection });
}

/** Stores the captures of the site in an archive. */
export async function storeLibrary(archive: Archive): Promise<void> {
  for (const [crawl, { collection, time }] of CRAWLS.entries()) {
    // The front page is first in the list and has the latest time, so that its links lead to captures of the same
    // crawl.
    let seconds = 0;
    for (const [path, answer] of site(crawl)) {
      await store(archive, SITE + path, time - 1000 * seconds++, answer, collection);
    }
  }
  for (const [day, news] of WATCHED_NEWS.entries()) {
    await store(archive, SITE, WATCH_FROM + day * DAY_MS, frontPage(news), 'front-page-watch');
  }
  await archive.flush();
}
