/**
 * A web on loopback: several hosts on a plain server and on a server with TLS and HTTP/2, with every behaviour of
 * servers that matters to crawlers. It knows the captures that a crawl must make, and logs every request.
 *
 * `resolve` resolves names that end in `.test` to this web, whatever the resolver of the machine says. A request counts
 * as ended before its last byte is sent, so that the log never sees more requests at a time than there are.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createSecureServer, type Http2SecureServer } from 'node:http2';
import type { AddressInfo, LookupFunction, Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { TEST_CERTIFICATE, TEST_KEY } from './test-certificate.ts';

export type LoggedRequest = {
  readonly host: string;
  readonly path: string;
  readonly fields: IncomingMessage['headers'];
};

/** The capture of a URL that a crawl must make. */
export type Expected = { readonly status: number; readonly truncated?: 'length' | 'time' | 'disconnect' };

type Handler = (request: IncomingMessage, response: ServerResponse, end: () => void) => void;

export class TestWeb {
  readonly requestLog: LoggedRequest[] = [];
  /** The most requests at a time, by host. */
  readonly concurrency = new Map<string, number>();
  readonly #under = new Map<string, number>();
  readonly #handlers = new Map<string, Handler>();
  readonly #sockets = new Set<Socket>();
  #plain!: Server;
  #secure!: Http2SecureServer;
  port = 0;
  securePort = 0;

  /** All names resolve to loopback. */
  readonly resolve: LookupFunction = (host, options, done) => {
    if (!host.endsWith('.test')) done(Object.assign(new Error(`no ${host} here`), { code: 'ENOTFOUND' }), [], 0);
    else if (options.all) done(null, [{ address: '127.0.0.1', family: 4 }]);
    else done(null, '127.0.0.1', 4);
  };

  static async start(): Promise<TestWeb> {
    const web = new TestWeb();
    web.#plain = createServer((request, response) => web.#answer(request, response));
    web.#secure = createSecureServer({ key: TEST_KEY, cert: TEST_CERTIFICATE, allowHTTP1: true }, (request, response) =>
      web.#answer(request as unknown as IncomingMessage, response as unknown as ServerResponse),
    );
    for (const server of [web.#plain, web.#secure]) {
      server.on('connection', (socket: Socket) => {
        web.#sockets.add(socket);
        socket.on('close', () => web.#sockets.delete(socket));
        socket.on('error', () => {});
      });
      server.on('clientError', (_, socket) => socket.destroy());
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    }
    web.#plain.keepAliveTimeout = 60_000;
    web.port = (web.#plain.address() as AddressInfo).port;
    web.securePort = (web.#secure.address() as AddressInfo).port;
    return web;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await Promise.all([this.#plain, this.#secure].map((server) => new Promise((resolve) => server.close(resolve))));
  }

  url(host: string, path = '/'): string {
    return host === 'secure.test' ? `https://${host}:${this.securePort}${path}` : `http://${host}:${this.port}${path}`;
  }

  /** Sets the handler for a path of a host. */
  at(host: string, path: string, handler: Handler): void {
    this.#handlers.set(`${host}${path}`, handler);
  }

  /** Sets a plain answer. */
  put(host: string, path: string, body: string | Uint8Array, fields: Record<string, string> = {}, status = 200): void {
    this.at(host, path, (_, response, end) => {
      response.writeHead(status, { 'content-type': 'text/html; charset=utf-8', ...fields });
      end();
      response.end(body);
    });
  }

  /** Writes bytes straight to the connection, and then closes it unless it should stay. */
  raw(host: string, path: string, bytes: string, then: 'close' | 'reset' | 'stay' = 'close'): void {
    this.at(host, path, ({ socket }, _, end) => {
      end();
      socket.write(bytes, () => {
        if (then === 'close') socket.end();
        if (then === 'reset') socket.resetAndDestroy();
      });
    });
  }

  redirect(host: string, path: string, location: string, status = 302): void {
    this.put(host, path, '', { location }, status);
  }

  requests(host: string, path?: string): LoggedRequest[] {
    return this.requestLog.filter((entry) => entry.host === host && (path === undefined || entry.path === path));
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const authority = String(request.headers.host ?? request.headers[':authority'] ?? '');
    const host = authority.replace(/:\d+$/, '');
    const path = request.url ?? '/';
    this.requestLog.push({ host, path, fields: request.headers });
    const running = (this.#under.get(host) ?? 0) + 1;
    this.#under.set(host, running);
    this.concurrency.set(host, Math.max(this.concurrency.get(host) ?? 0, running));
    let isEnded = false;
    const end = () => {
      if (!isEnded) this.#under.set(host, this.#under.get(host)! - 1);
      isEnded = true;
    };
    const handler = this.#handlers.get(`${host}${path}`) ?? this.#handlers.get(`${host}${path.replace(/\?.*$/, '')}`);
    if (handler) {
      handler(request, response, end);
      return;
    }
    response.writeHead(404, { 'content-type': 'text/plain' });
    end();
    response.end('not found');
  }
}

const FILLER = 'All that was written was to be found in one place, and each thing once. '.repeat(20);

export function html(title: string, body: string, head = ''): string {
  return `<!doctype html><html><head><title>${title}</title>${head}</head><body>${body}<p>${title}: ${FILLER}</p></body></html>`;
}

export const BODY_BYTES_MAX = 300_000;
const BOMB_BYTES = 60_000_000;

/** Sets up a site with one example of every behaviour. Returns its seeds and the captures that a crawl must make. */
export function setUpEverything(web: TestWeb): {
  seeds: string[];
  expected: Map<string, Expected>;
  forbidden: string[];
} {
  const site = 'site.test';
  const expected = new Map<string, Expected>();
  const expect = (path: string, status = 200, truncated?: Expected['truncated'], host = site) =>
    expected.set(web.url(host, path), { status, ...(truncated && { truncated }) });
  const page = (path: string, title: string, body = '', head = '') => {
    web.put(site, path, html(title, body, head));
    expect(path);
  };
  setUpLinks(web, site, expect);
  page('/anchor', 'anchor', '<a href="/">home</a><a href="#part">part</a><a href="mailto:a@site.test">mail</a>');
  page('/area', 'area');
  page('/frame', 'frame', '<a href="/from-frame">on</a>');
  page('/from-frame', 'from frame');
  page('/linked-by-header', 'header');
  page('/in-json', 'json');
  page('/in-sitemap', 'sitemap');
  page('/in-second-sitemap', 'second sitemap');
  page('/in-feed', 'feed');
  page('/app-start', 'start');
  page('/app-shortcut', 'shortcut');
  page('/refreshed', 'refreshed');
  page('/base/relative', 'relative');

  web.redirect(site, '/redirect/1', '/redirect/2', 301);
  web.redirect(site, '/redirect/2', '/landed', 307);
  expect('/redirect/1', 301);
  expect('/redirect/2', 307);
  page('/landed', 'landed');
  web.redirect(site, '/loop/1', '/loop/2');
  web.redirect(site, '/loop/2', '/loop/1');
  expect('/loop/1', 302);
  expect('/loop/2', 302);
  web.put(site, '/choices', html('choices', '<a href="/choice">x</a>'), {}, 300);
  expect('/choices', 300);
  page('/choice', 'choice');
  web.redirect(site, '/out', 'http://elsewhere.test:1/');
  expect('/out', 302);

  setUpTrouble(web, site, expect);
  setUpTraps(web, site, expect);

  web.put(site, '/private/secret', html('secret', ''));
  web.put(site, '/nofollowed', html('nofollowed', ''));
  page('/meta-nofollow', 'meta', '<a href="/nofollowed">x</a>', '<meta name="robots" content="nofollow">');

  setUpHosts(web, expect);
  web.put('secure.test', '/', html('secure', '<a href="/more">more</a>'));
  web.put('secure.test', '/more', html('more', ''));
  web.put('secure.test', '/picture.png', Buffer.alloc(3000, 7), { 'content-type': 'image/png' });
  for (const path of ['/', '/more', '/picture.png']) expect(path, 200, undefined, 'secure.test');
  expect('/robots.txt', 404, undefined, 'secure.test');

  const hosts = [
    site,
    'secure.test',
    'allowing.test',
    'moved-rules.test',
    'closed.test',
    'failing.test',
    'patient.test',
  ];
  return {
    seeds: [...hosts.map((host) => web.url(host)), 'http://nowhere.invalid/'],
    expected,
    forbidden: ['/private/secret', '/nofollowed', '/private/picture.png'],
  };
}

type Expect = (path: string, status?: number, truncated?: Expected['truncated'], host?: string) => void;

/** Links of every kind, on the first page or one step away. */
function setUpLinks(web: TestWeb, site: string, expect: Expect): void {
  const picture = Buffer.alloc(2500, 3);
  const picturePaths = [
    '/a.png',
    '/b.png',
    '/c.png',
    '/lazy.png',
    '/styled.png',
    '/inline.png',
    '/poster.png',
    '/imported.png',
    '/app/icon.png',
    '/app/screen.png',
    '/app/shortcut.png',
  ];
  for (const [index, path] of picturePaths.entries()) {
    web.put(site, path, Buffer.concat([picture, Buffer.from([index])]), { 'content-type': 'image/png' });
    expect(path);
  }
  web.put(site, '/style.css', `@import "/imported.css"; body { background: url(/styled.png) } ${'/* */'.repeat(400)}`, {
    'content-type': 'text/css',
  });
  web.put(site, '/imported.css', `p { background: url("imported.png") } ${'/* imported */'.repeat(200)}`, {
    'content-type': 'text/css',
  });
  web.put(site, '/script.js', `var nothing = 1; ${'// filler\n'.repeat(200)}`, { 'content-type': 'text/javascript' });
  web.put(
    site,
    '/feed.xml',
    '<rss version="2.0"><channel><title>f</title><link>/</link><item><link>/in-feed</link></item></channel></rss>',
    { 'content-type': 'application/rss+xml' },
  );
  const manifest = {
    start_url: '/app-start',
    icons: [{ src: 'icon.png' }, null],
    screenshots: [{ src: '/app/screen.png' }],
    shortcuts: [{ url: '/app-shortcut', icons: [{ src: 'shortcut.png' }] }],
  };
  web.put(site, '/app/manifest.json', JSON.stringify(manifest), { 'content-type': 'application/json' });
  web.put(site, '/robots.txt', `User-agent: *\nDisallow: /private/\nSitemap: ${web.url(site, '/sitemap.xml')}\n`, {
    'content-type': 'text/plain',
  });
  web.put(
    site,
    '/sitemap.xml',
    `<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><sitemap><loc>${web.url(site, '/sitemap-2.xml')}</loc></sitemap></sitemapindex>`,
    { 'content-type': 'application/xml' },
  );
  web.put(
    site,
    '/sitemap-2.xml',
    `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>${web.url(site, '/in-sitemap')}</loc></url><url><loc>${web.url(site, '/in-second-sitemap')}</loc></url></urlset>`,
    { 'content-type': 'application/xml' },
  );
  for (const path of [
    '/style.css',
    '/imported.css',
    '/script.js',
    '/feed.xml',
    '/app/manifest.json',
    '/robots.txt',
    '/sitemap.xml',
    '/sitemap-2.xml',
  ])
    expect(path);
  const trouble = [
    'slow',
    'stalled',
    'reset',
    'cut',
    'endless',
    'bomb',
    'too-long',
    'no-length',
    'bad-charset',
    'busy',
    'unavailable',
    'interim',
    'trailers',
    'line-feeds',
    'big-head',
    'not-http',
    'gone',
    'silent',
  ];
  const body = [
    '<a href="/anchor">a</a> <map><area href="/area"></map> <iframe src="/frame"></iframe>',
    '<img src="/a.png" srcset="/b.png 1x, /c.png 2x"> <img data-src="/lazy.png"> <p style="background:url(/inline.png)">x</p>',
    '<video poster="/poster.png"></video> <script src="/script.js"></script>',
    `<img src="${web.url('secure.test', '/picture.png')}"> <img src="/private/picture.png">`,
    '<script type="application/ld+json">{"@type":"WebPage","url":"/in-json"}</script>',
    '<a href="/redirect/1">r</a> <a href="/loop/1">l</a> <a href="/out">o</a> <a href="/private/secret">s</a> <a href="/choices">c</a>',
    '<a rel="nofollow" href="/nofollowed">n</a> <a href="/meta-nofollow">m</a> <a href="/with-base">b</a> <a href="/refreshing">f</a>',
    '<form action="/form"><input name="q"></form> <a href="http://outside.test:1/">outside</a>',
    '<a href="/trap/">t</a> <a href="/calendar/">c</a> <a href="/sessions">s</a>',
    ...trouble.map((name) => `<a href="/${name}">${name}</a>`),
  ].join('\n');
  const head =
    '<link rel="stylesheet" href="/style.css"><link rel="alternate" type="application/rss+xml" href="/feed.xml"><link rel="manifest" href="/app/manifest.json">';
  web.put(site, '/', html('home', body, head), { link: '</linked-by-header>; rel="next"' });
  web.put(site, '/with-base', html('base', '<a href="relative">x</a>', '<base href="/base/">'));
  web.put(site, '/refreshing', html('refreshing', '', '<meta http-equiv="refresh" content="0; url=/refreshed">'));
  for (const path of ['/', '/with-base', '/refreshing']) expect(path);
}

/** Answers that are late, cut, endless, wrong or missing. */
function setUpTrouble(web: TestWeb, site: string, expect: Expect): void {
  web.at(site, '/slow', (_, response, end) => {
    setTimeout(() => {
      response.writeHead(200, { 'content-type': 'text/html' });
      end();
      response.end(html('slow', ''));
    }, 100);
  });
  web.raw(
    site,
    '/stalled',
    'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5000\r\n\r\n<p>never',
    'stay',
  );
  web.raw(site, '/reset', '', 'reset');
  web.raw(site, '/silent', '', 'stay');
  web.raw(site, '/cut', `HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 9000\r\n\r\n${html('cut', '')}`);
  web.at(site, '/endless', ({ socket }, response, end) => {
    response.writeHead(200, { 'content-type': 'text/plain' });
    end();
    const piece = 'without an end '.repeat(1000);
    const write = () => {
      while (!socket.destroyed && response.write(piece));
      response.once('drain', write);
    };
    write();
  });
  web.put(site, '/bomb', gzipSync(Buffer.alloc(BOMB_BYTES, 0x20)), { 'content-encoding': 'gzip' });
  web.raw(
    site,
    '/too-long',
    `HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2000\r\n\r\n${html('long', '').slice(0, 1400).padEnd(2000)}and more`,
    'stay',
  );
  web.raw(site, '/no-length', `HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n${html('no length', '')}`);
  web.put(site, '/bad-charset', Buffer.from(html('caf\u00e9', ''), 'latin1'), {
    'content-type': 'text/html; charset=x-nonsense',
  });
  let refusals = 0;
  web.at(site, '/busy', (_, response, end) => {
    const isFirst = refusals++ === 0;
    response.writeHead(isFirst ? 429 : 200, { 'content-type': 'text/html', ...(isFirst && { 'retry-after': '0' }) });
    end();
    response.end(isFirst ? 'later' : html('busy', ''));
  });
  web.put(site, '/unavailable', 'never', {}, 503);
  web.put(site, '/gone', 'gone', {}, 410);
  web.raw(
    site,
    '/interim',
    `HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/html\r\nContent-Length: 3\r\n\r\nhey`,
  );
  web.raw(
    site,
    '/trailers',
    'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n5;x=y\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n',
  );
  web.raw(
    site,
    '/line-feeds',
    'HTTP/1.1 200 OK\nContent-Type : text/html\nConnection: close\nContent-Length: 4\n\nbare',
  );
  web.raw(site, '/big-head', `HTTP/1.1 200 OK\r\n${'X-Filler: full of nothing\r\n'.repeat(2000)}\r\n`);
  web.raw(site, '/not-http', 'SSH-2.0-OpenSSH_9.6\r\n');
  for (const path of [
    '/slow',
    '/bomb',
    '/too-long',
    '/no-length',
    '/bad-charset',
    '/busy',
    '/interim',
    '/trailers',
    '/line-feeds',
  ])
    expect(path);
  expect('/stalled', 200, 'time');
  expect('/cut', 200, 'disconnect');
  expect('/endless', 200, 'length');
  expect('/unavailable', 503);
  expect('/gone', 410);
}

/** Places without an end. */
function setUpTraps(web: TestWeb, site: string, expect: Expect): void {
  const endless = (path: string) => html(`trap ${path}`, '<a href="deeper/">on</a>');
  for (let depth = 0; depth < 10; depth++) web.put(site, `/trap/${'deeper/'.repeat(depth)}`, endless(String(depth)));
  for (let depth = 0; depth <= 3; depth++) expect(`/trap/${'deeper/'.repeat(depth)}`);
  web.at(site, '/calendar/', (request, response, end) => {
    const year = Number(/year=(\d+)/.exec(request.url ?? '')?.[1] ?? new Date().getUTCFullYear());
    response.writeHead(200, { 'content-type': 'text/html' });
    end();
    response.end(html(`year ${year}`, `<a href="/calendar/?year=${year + 1}">next</a>`));
  });
  const present = new Date().getUTCFullYear();
  expect('/calendar/');
  for (let ahead = 1; ahead <= 3; ahead++) expect(`/calendar/?year=${present + ahead}`);
  const sessions = Array.from({ length: 40 }, (_, index) => `/session?jsessionid=${String(index).padStart(32, 'a')}`);
  web.put(site, '/sessions', html('sessions', sessions.map((path) => `<a href="${path}">x</a>`).join('')));
  web.at(site, '/session', (request, response, end) => {
    response.writeHead(200, { 'content-type': 'text/html' });
    end();
    response.end(html(`session ${request.url}`, ''));
  });
  expect('/sessions');
  for (const path of sessions.slice(0, 16)) expect(path);
}

/** Hosts that differ in their robots.txt. */
function setUpHosts(web: TestWeb, expect: Expect): void {
  const front = (host: string, paths: readonly string[] = []) =>
    web.put(host, '/', html(host, paths.map((path) => `<a href="${path}">x</a>`).join('')));
  front('allowing.test', ['/page']);
  web.put('allowing.test', '/page', html('page of allowing', ''));
  expect('/robots.txt', 404, undefined, 'allowing.test');
  for (const path of ['/', '/page']) expect(path, 200, undefined, 'allowing.test');

  front('moved-rules.test', ['/yes', '/no']);
  web.redirect('moved-rules.test', '/robots.txt', '/real-robots.txt', 301);
  web.put('moved-rules.test', '/real-robots.txt', 'User-agent: pinakes\nDisallow: /no\n', {
    'content-type': 'text/plain',
  });
  web.put('moved-rules.test', '/yes', html('yes', ''));
  web.put('moved-rules.test', '/no', html('no', ''));
  expect('/robots.txt', 301, undefined, 'moved-rules.test');
  for (const path of ['/real-robots.txt', '/', '/yes']) expect(path, 200, undefined, 'moved-rules.test');

  front('closed.test');
  web.put('closed.test', '/robots.txt', 'User-agent: *\nDisallow: /\n', { 'content-type': 'text/plain' });
  expect('/robots.txt', 200, undefined, 'closed.test');

  front('failing.test');
  web.put('failing.test', '/robots.txt', 'broken', {}, 500);
  expect('/robots.txt', 500, undefined, 'failing.test');

  front('patient.test', ['/1', '/2', '/3']);
  web.put('patient.test', '/robots.txt', 'User-agent: *\nCrawl-delay: 0.3\n', { 'content-type': 'text/plain' });
  expect('/robots.txt', 200, undefined, 'patient.test');
  for (const path of ['/', '/1', '/2', '/3']) expect(path, 200, undefined, 'patient.test');
  for (const path of ['/1', '/2', '/3']) web.put('patient.test', path, html(`patient ${path}`, ''));
}
