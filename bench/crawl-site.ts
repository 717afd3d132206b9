/**
 * A site for the crawl bench, in its own process: pages of about 9 KB that link to each other, made on request. Prints
 * its port.
 */
import { createServer } from 'node:http';

const pages = Number(process.argv[2] ?? 20_000);
const LINKS = 20;

/** Links that lead from page 0 to every page in few steps, so that a crawl finds the whole site. */
function linksOf(page: number): number[] {
  const children = [page * 4 + 1, page * 4 + 2, page * 4 + 3, page * 4 + 4].filter((child) => child < pages);
  const others = Array.from({ length: LINKS - children.length }, (_, index) => (page * 31 + index * 17) % pages);
  return [...children, ...others];
}

const FILLER = 'The library kept a copy of every scroll that came by ship, and a list of what it held. ';

function pageOf(page: number): string {
  const links = linksOf(page).map(
    (other) => `<li><a href="/page/${other}">Scroll ${other} on shelf ${other % 70}</a></li>`,
  );
  const text = Array.from(
    { length: 60 },
    (_, line) => `<p>${page}.${line} ${FILLER}${(page * 7919 + line * 104729) % 1_000_003}</p>`,
  );
  return `<!doctype html><html lang="en"><head><title>Scroll ${page}</title></head><body><ul>${links.join('\n')}</ul>\n${text.join('\n')}</body></html>`;
}

/** A page that links to so many other pages that fifty such pages make a million known URLs. */
function manyOf(page: number): string {
  const links = Array.from(
    { length: 20_000 },
    (_, index) => `<a href="/known/${page}/${index}/a-page-of-an-ordinary-name.html">x</a>`,
  );
  return `<!doctype html><html><head><title>Many ${page}</title></head><body>${links.join('\n')}</body></html>`;
}

const server = createServer((request, response) => {
  const many = /^\/many\/(\d+)$/.exec(request.url ?? '');
  if (many) {
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' });
    response.end(manyOf(Number(many[1])));
    return;
  }
  const match = /^\/page\/(\d+)$/.exec(request.url ?? '');
  const page = request.url === '/' ? 0 : match ? Number(match[1]) : undefined;
  if (page === undefined || page >= pages) {
    response.writeHead(404, { 'content-type': 'text/plain' });
    response.end('not found');
    return;
  }
  response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' });
  response.end(pageOf(page));
});

server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.stdout.write(`${typeof address === 'object' && address ? address.port : 0}\n`);
});
process.once('SIGTERM', () => process.exit(0));
