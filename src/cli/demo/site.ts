/**
 * A small invented site on three days: pages that link to each other, styles that import styles, pictures, scripts that
 * fetch, a redirect and a page that disappears. Some parts stay the same on all days, so that the archive stores their
 * content once.
 */
import { utf8 } from '../../base/index.ts';
import { paintPng } from './picture.ts';

export const DEMO_HOST = 'http://library.example';

export type DemoExchange = { readonly url: string; readonly head: Uint8Array; readonly body: Uint8Array };

export type DemoSnapshot = {
  readonly collection: string;
  readonly time: number;
  readonly exchanges: readonly DemoExchange[];
};

const SCROLLS = [
  [
    'pinakes',
    'The Pinakes',
    'Callimachus',
    'The catalogue of the library itself, in 120 scrolls: who wrote what, how it begins, and how many lines it has.',
  ],
  [
    'elements',
    'Elements',
    'Euclid',
    'Thirteen books of geometry and numbers. Lent more often than any other scroll; two copies are at the binder.',
  ],
  [
    'argonautica',
    'Argonautica',
    'Apollonius',
    'The voyage of the Argo in four books, by a head of this library who then left for Rhodes.',
  ],
  [
    'phenomena',
    'Phenomena',
    'Aratus',
    'The stars and the weather in 1,154 lines of verse. Sailors copy the second half.',
  ],
  ['almagest', 'Almagest', 'Ptolemy', 'Sun, moon and planets as circles upon circles. New in the third hall.'],
  [
    'mechanica',
    'Mechanica',
    'Heron',
    'Gears, screws and a machine that sells holy water for a coin. New in the third hall.',
  ],
] as const;

/** The differences between the three days. */
const DAYS = [
  {
    collection: 'spring-2022',
    time: Date.UTC(2022, 2, 1, 9, 30),
    scrolls: 4,
    accent: '#8a4b1f',
    notice: 'The reading room opens at sunrise.',
    copies: 490_000,
  },
  {
    collection: 'summer-2023',
    time: Date.UTC(2023, 5, 15, 14, 5),
    scrolls: 5,
    accent: '#8a4b1f',
    notice: 'The third hall is open. The first new scroll is on its shelf.',
    copies: 516_000,
  },
  {
    collection: 'autumn-2024',
    time: Date.UTC(2024, 10, 20, 18, 40),
    scrolls: 6,
    accent: '#20566b',
    notice: 'Ships that land here lend us their books. We keep the originals.',
    copies: 542_000,
  },
] as const;

type Day = (typeof DAYS)[number];

export function demoSnapshots(): DemoSnapshot[] {
  return DAYS.map((day, index) => ({ collection: day.collection, time: day.time, exchanges: exchangesOf(day, index) }));
}

function exchangesOf(day: Day, index: number): DemoExchange[] {
  const scrolls = SCROLLS.slice(0, day.scrolls);
  return [
    page('/', 'The Library', home(day)),
    page('/catalogue', 'Catalogue', catalogue(scrolls)),
    page('/visit', 'Visit', VISIT),
    ...scrolls.map(([slug, title, author, text]) => page(`/scrolls/${slug}`, title, scroll(title, author, text))),
    answer('/style.css', 'text/css', `@import url("type.css");\n:root { --accent: ${day.accent}; }\n${STYLE}`),
    answer('/type.css', 'text/css', TYPE),
    answer('/logo.svg', 'image/svg+xml', LOGO),
    answer('/columns.png', 'image/png', paintPng(480, 160, columns(index))),
    answer('/columns-2x.png', 'image/png', paintPng(960, 320, columns(index))),
    answer('/counter.js', 'text/javascript', COUNTER),
    answer('/figures.json', 'application/json', JSON.stringify({ copies: day.copies, padding: ' '.repeat(1200) })),
    answer('/old-catalogue', 'text/html', '', ['HTTP/1.1 301 Moved Permanently', `Location: ${DEMO_HOST}/catalogue`]),
    ...(index < 2
      ? [page('/lost', 'A page that went away', `<p>It said that no scroll was ever lost.</p>${FILLER}`)]
      : [gone()]),
  ];
}

function answer(
  path: string,
  type: string,
  body: string | Uint8Array,
  start: readonly string[] = ['HTTP/1.1 200 OK'],
): DemoExchange {
  const bytes = typeof body === 'string' ? utf8(body) : body;
  const fields = [
    ...start,
    `Content-Type: ${type.startsWith('image/png') ? type : `${type}; charset=utf-8`}`,
    `Content-Length: ${bytes.length}`,
  ];
  return { url: DEMO_HOST + path, head: utf8(`${fields.join('\r\n')}\r\n\r\n`), body: bytes };
}

function gone(): DemoExchange {
  return answer('/lost', 'text/html', document('Gone', '<p>There is no such page.</p>'), ['HTTP/1.1 404 Not Found']);
}

function page(path: string, title: string, content: string): DemoExchange {
  return answer(path, 'text/html', document(title, content));
}

function document(title: string, content: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} - The Library</title>
<link rel="stylesheet" href="/style.css"><link rel="icon" href="/logo.svg">
</head>
<body>
<header><a class="home" href="/"><img src="/logo.svg" alt="" width="48" height="48"> The Library</a>
<nav><a href="/catalogue">Catalogue</a> <a href="/visit">Visit</a> <a href="/old-catalogue">Old catalogue</a> <a href="/lost">Lost</a></nav></header>
<main><h1>${title}</h1>
${content}
</main>
<footer>A site that never was, made by Pinakes to show itself.</footer>
<script type="module" src="/counter.js"></script>
</body>
</html>
`;
}

function home(day: Day): string {
  return `<p class="notice">${day.notice}</p>
<img class="wide" src="/columns.png" srcset="/columns.png 480w, /columns-2x.png 960w" sizes="(max-width: 600px) 480px, 960px" alt="Columns">
<p>Here are <strong data-figure="copies">many</strong> scrolls, and a <a href="/catalogue">catalogue</a> of them.</p>${FILLER}`;
}

function catalogue(scrolls: readonly (typeof SCROLLS)[number][]): string {
  const rows = scrolls.map(([slug, title, author]) => `<li><a href="/scrolls/${slug}">${title}</a>, ${author}</li>`);
  return `<ol>\n${rows.join('\n')}\n</ol>${FILLER}`;
}

function scroll(title: string, author: string, text: string): string {
  return `<p class="author">${author}</p><p>${text}</p>${FILLER}<p><a href="/catalogue">All scrolls</a>, of which ${title} is one.</p>`;
}

const FILLER = `
<section><h2>From the rules of the house</h2>
<p>Scrolls are read where they lie. Lamps stay at the door. Who copies a scroll leaves a copy of the copy. A scroll that is returned to another shelf than its own is
lost for a generation; the keepers ask you to read the label twice. Every spring all shelves are counted, and every scroll that is there twice is given away once.</p>
<p>The label says the author, the first words and the number of lines, because titles change and first words do not. Two scrolls with the same first words and the same
number of lines are compared line by line before one of them is given away: some only begin alike.</p></section>`;

const VISIT = `<p>By the harbour, behind the temple of the Muses. The steps are steep.</p>
<table><tr><th>Hall</th><th>What</th></tr><tr><td>First</td><td>Verse</td></tr><tr><td>Second</td><td>Numbers and stars</td></tr><tr><td>Third</td><td>Machines</td></tr></table>${FILLER}`;

const STYLE = `
body { margin: 0; background: #f7f3ea url("/columns.png") no-repeat right bottom / 480px; }
header, main, footer { max-width: 44rem; margin: 0 auto; padding: 1rem 1.25rem; }
header { display: flex; flex-wrap: wrap; gap: 1rem; align-items: center; border-bottom: 3px solid var(--accent); }
.home { display: flex; gap: .75rem; align-items: center; font-weight: 700; text-decoration: none; }
a { color: var(--accent); }
.notice { padding: .75rem 1rem; background: #fff; border-left: 4px solid var(--accent); }
.wide { display: block; width: 100%; height: auto; }
main { background: rgb(255 255 255 / 80%); }
footer { color: #6b6356; font-size: .9rem; }
table { border-collapse: collapse; } td, th { padding: .25rem 1rem .25rem 0; text-align: left; }
`;

const TYPE = `body { font: 18px/1.55 Georgia, "Times New Roman", serif; color: #2b2620; }
h1 { font-size: 2rem; line-height: 1.2; } h2 { font-size: 1.2rem; }
.author { font-style: italic; }
`;

const LOGO = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 48 48" role="img"><title>A scroll</title>
<rect x="8" y="6" width="32" height="36" rx="4" fill="#f1e4c6" stroke="#8a4b1f" stroke-width="2"/>
<path d="M14 15h20M14 21h20M14 27h14M14 33h17" stroke="#8a4b1f" stroke-width="2" stroke-linecap="round"/></svg>
`;

const COUNTER = `const place = document.querySelector('[data-figure="copies"]');
if (place) {
  const reply = await fetch('/figures.json');
  const { copies } = await reply.json();
  place.textContent = copies.toLocaleString('en');
}
export const isCounted = place !== null;
`;

/** Columns in front of a sky with another colour on each day. */
function columns(index: number): (x: number, y: number) => readonly [number, number, number] {
  const skies = [
    [244, 214, 170],
    [178, 212, 232],
    [196, 178, 204],
  ] as const;
  const [red, green, blue] = skies[index]!;
  return (x, y) => {
    const isColumn = x % 0.125 < 0.06 && y > 0.28 && y < 0.86;
    const isBeam = y >= 0.16 && y <= 0.28;
    const isStep = y >= 0.86;
    if (!isColumn && !isBeam && !isStep) return [red - y * 30, green - y * 30, blue - y * 20];
    const shade = isColumn ? 232 - Math.abs((x % 0.125) - 0.03) * 1800 : 214 - y * 30;
    return [shade, shade - 8, shade - 26];
  };
}
