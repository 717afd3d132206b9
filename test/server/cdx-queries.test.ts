/** Queries to the CDX server: ranges, order, filters, collapsing, paging, and invalid queries. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { contentOf, makeArchive, page, temporaryDirectory } from '../archive/trial-archive.ts';
import { writeHandOver } from './hand-over-warc.ts';
import { ask, makeServer, TOKEN } from './trial-server.ts';

const DAY = 24 * 3600 * 1000;
const START = Date.UTC(2020, 0, 1);

test('queries to the CDX server', async (t) => {
  const archive = await makeArchive(t);
  // Ten days of one page, whose content changes every third day, and three captures in one second.
  for (let day = 0; day < 10; day++)
    await archive.store(page('http://site.test/daily', START + day * DAY, contentOf(`day ${Math.floor(day / 3)}`)), {
      collection: day < 5 ? 'early' : 'late',
    });
  for (const ms of [100, 200, 900])
    await archive.store(page('http://site.test/burst', START + ms, contentOf(`burst ${ms}`)));
  await archive.store(page('http://below.site.test/x', START, contentOf('below')));
  await archive.store(page('http://site-shop.test/', START, contentOf('neighbour')));
  const { server, failures } = await makeServer(t, { archive });
  const get = (target: string) => ask(server.uiAddress, target);
  const lines = async (query: string) =>
    (await get(`/cdx?${query}`)).text
      .trimEnd()
      .split('\n')
      .filter((line) => line !== '');
  const days = async (query: string) =>
    (await lines(`url=site.test/daily&fl=timestamp&${query}`)).map((line) => Number(line.slice(6, 8)));

  await t.test('match types and wildcards select exactly the matching URLs', async () => {
    assert.equal((await lines('url=site.test/daily')).length, 10);
    assert.equal((await lines('url=site.test/*')).length, 13);
    assert.equal((await lines('url=site.test/d&matchType=prefix')).length, 10);
    assert.equal((await lines('url=site.test&matchType=host')).length, 13);
    assert.equal((await lines('url=*.site.test')).length, 14);
    assert.equal((await lines('url=site.test&matchType=domain')).length, 14);
    assert.equal((await lines('url=site.test/daily*&matchType=exact')).length, 0);
    assert.equal((await lines('url=*')).length, 15);
    assert.equal((await lines('url=*&matchType=prefix&collapse=urlkey')).length, 4);
    assert.equal((await lines('url=*&matchType=exact')).length, 0);
  });

  await t.test(
    'from and to limit the reply, and short times mean the first and the last moment of their period',
    async () => {
      assert.deepEqual(await days('from=20200103&to=20200105'), [3, 4, 5]);
      assert.deepEqual(await days('from=2020010&to=2020010'), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
      assert.deepEqual(await days('from=2020011&to=20201'), [10]);
      assert.deepEqual(await days('to=2019'), []);
      assert.deepEqual(await days('from=202&to=20200101000000'), [1]);
    },
  );

  await t.test('limit selects the first or last lines, and offset skips lines', async () => {
    assert.deepEqual(await days('limit=3'), [1, 2, 3]);
    assert.deepEqual(await days('limit=-3'), [8, 9, 10]);
    assert.deepEqual(await days('limit=2&offset=4'), [5, 6]);
    assert.deepEqual(await days('limit=0'), []);
    assert.deepEqual(await days('offset=20'), []);
  });

  await t.test('sort reverses the order, or begins with the nearest line', async () => {
    assert.deepEqual(await days('sort=reverse&limit=3'), [10, 9, 8]);
    assert.deepEqual(await days('sort=closest&closest=20200105&limit=4'), [5, 4, 6, 3]);
    assert.deepEqual(await days('sort=closest&closest=1990&limit=2'), [1, 2]);
    assert.deepEqual(await days('sort=closest&closest=20200104120000'), [4, 5, 3, 6, 2, 7, 1, 8, 9, 10]);
    assert.deepEqual(await days('sort=closest&closest=20200105&from=20200106&limit=2'), [6, 7]);
    const prefix = await lines('url=site.test/*&fl=timestamp&sort=closest&closest=20200109&limit=3');
    assert.deepEqual(prefix, ['20200109000000', '20200108000000', '20200110000000']);
    const burst = await lines('url=site.test/burst&fl=offset&sort=closest&closest=20210101');
    assert.deepEqual(burst, await lines('url=site.test/burst&fl=offset'));
  });

  await t.test('filters match whole values or parts, by field or by line, and can be negated', async () => {
    assert.deepEqual(await days('filter=mimetype:warc/revisit'), [2, 3, 5, 6, 8, 9]);
    assert.deepEqual(await days('filter=!mimetype:warc/revisit'), [1, 4, 7, 10]);
    assert.deepEqual(await days('filter=timestamp:2020010[2-4].*'), [2, 3, 4]);
    assert.deepEqual(await days('filter=timestamp:2020010'), []);
    assert.deepEqual(await days('filter=~timestamp:2020010'), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
    assert.deepEqual(await days('filter=~!timestamp:2020010'), [10]);
    assert.deepEqual(await days('filter=statuscode:200|404&filter=mime:text/.*'), [1, 4, 7, 10]);
    assert.deepEqual(
      await days('filter=!timestamp:.*0[37]0{6}&filter=~timestamp:2020010&filter=!mime:warc/.*&filter='),
      [1, 4],
    );
    assert.deepEqual(await days('filter=.*20200103.*'), [3]);
    assert.deepEqual(await days('filter=1:20200103000000'), [3]);
    const pywb = async (query: string) => {
      const { text } = await get(`/cdx/pywb?url=site.test/daily&output=text&fl=timestamp&${query}`);
      return text.split('\n').flatMap((line) => (line.length === 14 ? Number(line.slice(6, 8)) : []));
    };
    assert.deepEqual(await pywb('filter=timestamp:2020010'), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
    assert.deepEqual(await pywb('filter==timestamp:20200103000000'), [3]);
    assert.deepEqual(await pywb('filter=!~timestamp:2020010[1-8]'), [9, 10]);
    assert.deepEqual(await pywb('filter=~timestamp:.*05000000'), [5]);
    assert.deepEqual(await pywb('filter=!mime:revisit&filter=nothing:'), [1, 4, 7, 10]);
  });

  await t.test('a regular expression that would never end is stopped, and the server continues', async () => {
    await archive.store(page(`http://evil.test/${'a'.repeat(60)}`, START, contentOf('evil')));
    const reply = await get(`/cdx?url=evil.test/*&filter=${encodeURIComponent('original:.*(a|a)*(a|a)*(a|a)*b')}`);
    assert.equal(reply.status, 400);
    assert.match(reply.text, /takes too long/);
    assert.equal((await get('/healthz')).status, 200);
  });

  await t.test('collapsing keeps the first of neighbouring lines with the same beginning', async () => {
    assert.deepEqual(await days('collapse=digest'), [1, 4, 7, 10]);
    assert.deepEqual(await days('collapse=timestamp:7'), [1, 10]);
    assert.deepEqual(await days('collapse=digest&limit=-2'), [7, 10]);
    assert.deepEqual(await days('collapse=digest&sort=reverse'), [10, 7, 4, 1]);
    assert.deepEqual(await lines('url=site.test/*&collapse=urlkey&fl=urlkey'), [
      'test,site)/burst',
      'test,site)/daily',
    ]);
    const last = await get('/cdx/outbackcdx?url=site.test/daily&collapseToLast=digest&fl=timestamp');
    assert.equal(last.text, '20200103000000\n20200106000000\n20200109000000\n20200110000000\n');
    const pywb = await get('/cdx/pywb?url=site.test/daily&collapseTime=7&output=text&fl=timestamp');
    assert.equal(pywb.text, '20200101000000\n20200110000000\n');
  });

  await t.test('counters count duplicates, and captures skipped by filters and collapsing', async () => {
    const fields = 'fl=timestamp,dupecount,skipcount,endtimestamp';
    const counted = async (query: string) => {
      const found = await lines(`url=site.test/daily&${fields}&${query}`);
      return found.map((line) => line.replace(/202001(\d\d)000000/g, '$1'));
    };
    assert.deepEqual(await counted('collapse=digest'), ['01 0 2 03', '04 0 2 06', '07 0 2 09', '10 0 0 10']);
    assert.deepEqual(await counted('collapse=digest&limit=2'), ['01 0 2 03', '04 0 2 06']);
    assert.deepEqual(await counted('collapse=digest&limit=-2'), ['07 0 2 09', '10 0 0 10']);
    assert.deepEqual(await counted('collapse=digest&offset=2&limit=1'), ['07 0 2 09']);
    assert.deepEqual(await counted('filter=mimetype:warc/revisit'), [
      '02 0 0 02',
      '03 1 1 04',
      '05 0 0 05',
      '06 1 1 07',
      '08 0 0 08',
      '09 1 1 10',
    ]);
    assert.deepEqual(await counted('from=20200103&to=20200105'), ['03 0 0 03', '04 0 0 04', '05 1 0 05']);
    assert.deepEqual(await counted('limit=-3'), ['08 1 0 08', '09 2 0 09', '10 0 0 10']);
    const columns = await lines('url=site.test/daily&limit=1&showSkipCount=true');
    assert.equal(columns[0]!.split(' ').length, 8);
    assert.deepEqual(await lines('url=site.test/daily&limit=1&showSkipCount=true&fl=timestamp'), ['20200101000000']);
    assert.equal((await get('/cdx?url=site.test/daily&showDupeCount=true&sort=reverse')).status, 400);
    const pywb = await get('/cdx/pywb?url=site.test/daily&showDupeCount=true&limit=1');
    assert.doesNotMatch(pywb.text, /dupecount/);
  });

  await t.test('a query can be limited to one collection', async () => {
    assert.deepEqual(await days('collection=early'), [1, 2, 3, 4, 5]);
    assert.equal((await get('/cdx?url=site.test&collection=nothing')).status, 404);
    const outback = await get('/cdx/outbackcdx/late?url=site.test/daily&fl=timestamp&limit=1');
    assert.equal(outback.text, '20200106000000\n');
  });

  await t.test('resume keys lead through a long reply with each line once, even captures of one second', async () => {
    for (const output of ['text', 'json']) {
      const seen: string[] = [];
      let key: string | undefined = '';
      for (let round = 0; key !== undefined && round < 20; round++) {
        const query: string = `url=site.test/*&fl=urlkey,timestamp,offset&limit=2&output=${output}&showResumeKey=true${key && `&resumeKey=${key}`}`;
        const { text } = await get(`/cdx?${query}`);
        if (output === 'text') {
          const [rows, next]: string[] = text.split('\n\n');
          seen.push(...rows!.trim().split('\n'));
          key = next?.trim();
        } else {
          const rows = JSON.parse(text) as string[][];
          const end = rows.findIndex((row) => row.length === 0);
          seen.push(...rows.slice(1, end < 0 ? undefined : end).map((row) => row.join(' ')));
          key = end < 0 ? undefined : rows[end + 1]![0];
        }
      }
      assert.deepEqual(seen, await lines('url=site.test/*&fl=urlkey,timestamp,offset'), output);
    }
    const plain = await lines('url=site.test/*&fl=timestamp&resumeKey=test%2Csite%29%2Fdaily+20200108000000%21');
    assert.deepEqual(plain, ['20200109000000', '20200110000000']);
  });

  await t.test('a reply continued by resume key is collapsed like a whole one', async () => {
    const whole = async (query: string) => {
      const seen: string[] = [];
      let key: string | undefined = '';
      for (let round = 0; key !== undefined && round < 20; round++) {
        const { text } = await get(`/cdx?${query}&limit=1&showResumeKey=true${key && `&resumeKey=${key}`}`);
        const [rows, next]: string[] = text.split('\n\n');
        if (rows!.trim() !== '') seen.push(...rows!.trim().split('\n'));
        key = next?.trim();
      }
      return seen;
    };
    for (const query of [
      'url=*.site.test&fl=urlkey,timestamp&collapse=urlkey',
      'url=site.test/daily&fl=timestamp&collapse=digest',
      'url=site.test/daily&fl=timestamp&collapse=digest&collection=late',
      'url=site.test/daily&fl=timestamp&collapse=timestamp:4&filter=!timestamp:2020010[12].*',
      'url=site.test/burst&fl=timestamp,offset&collapse=offset',
      'url=*.site.test&fl=urlkey,timestamp&collapse=urlkey&showDupeCount=true',
      'url=*.site.test&fl=urlkey,timestamp&collapseToLast=urlkey&dialect=outbackcdx',
      'url=site.test/daily&fl=timestamp&sort=reverse',
    ])
      assert.deepEqual(await whole(query), await lines(query), query);
    const ofIa = 'url=site.test/daily&fl=timestamp&collapse=timestamp:4';
    assert.deepEqual(await lines(`${ofIa}&resumeKey=test%2Csite%29%2Fdaily+20200108000000%21`), []);
    const nearest = await get('/cdx?url=site.test/daily&sort=closest&closest=20200105&limit=2&showResumeKey=true');
    assert.doesNotMatch(nearest.text, /\n\n/, 'sort=closest has no resume key');
  });

  await t.test('a field is in the reply once, even when requested several times', async () => {
    const fields = `fl=${'original,timestamp,'.repeat(3000)}original`;
    assert.deepEqual(await lines(`url=site.test/daily&limit=1&${fields}`), ['http://site.test/daily 20200101000000']);
    const json = await get(`/cdx?url=site.test/daily&limit=1&output=json&${fields}`);
    assert.deepEqual(JSON.parse(json.text)[0], ['original', 'timestamp']);
    const outback = await get(`/cdx/outbackcdx?url=site.test/daily&limit=1&output=jsondict&${fields}`);
    assert.equal(outback.text.match(/original/g)!.length, 1);
  });

  await t.test('a filter can name a column by its number', async () => {
    assert.deepEqual(await days('filter=1:2020010[12].*'), [1, 2]);
    assert.deepEqual(await days('filter=77:x'), []);
  });

  await t.test('a reply is compressed when the client accepts gzip and does not refuse it', async () => {
    const target = '/cdx?url=*.site.test&fl=urlkey,timestamp,original,digest,filename';
    const packed = await ask(server.uiAddress, target, { headers: { 'accept-encoding': 'gzip' } });
    assert.equal(packed.headers['content-encoding'], 'gzip');
    assert.equal(gunzipSync(packed.body).toString(), (await get(target)).text);
    const plain = await ask(server.uiAddress, `${target}&gzip=false`, { headers: { 'accept-encoding': 'gzip' } });
    assert.equal(plain.headers['content-encoding'], undefined);
    const head = await ask(server.uiAddress, target, { method: 'HEAD' });
    assert.deepEqual([head.status, head.text], [200, '']);
  });

  await t.test('invalid parameters are refused with a sentence', async () => {
    const refused = [
      '/cdx',
      '/cdx?url=',
      '/cdx?url=site.test&matchType=nearby',
      '/cdx?url=site.test&limit=many',
      '/cdx?url=site.test&limit=1e3',
      '/cdx?url=site.test&from=yesterday',
      '/cdx?url=site.test&to=20201301',
      '/cdx?url=site.test&sort=random',
      '/cdx?url=site.test&sort=closest',
      '/cdx?url=site.test/*&sort=closest&closest=2020&limit=1&offset=999999999999',
      '/cdx?url=site.test&fl=urlkey,password',
      '/cdx?url=site.test&filter=password:x',
      '/cdx?url=site.test&filter=mimetype:(',
      `/cdx?url=site.test&filter=mimetype:${'a.'.repeat(600)}`,
      `/cdx?url=site.test${'&filter=a'.repeat(21)}`,
      '/cdx?url=site.test&collapse=timestamp:x',
      `/cdx?url=site.test${'&collapse=digest'.repeat(21)}`,
      '/cdx?url=site.test&page=-1',
      '/cdx/pywb?url=site.test&page=-1',
      '/cdx?url=site.test&pageSize=-1',
      '/cdx?url=site.test&output=xml',
      '/cdx?url=site.test&resumeKey=nonsense',
      '/cdx?url=site.test/daily&sort=closest&closest=2020&resumeKey=test%2Csite%29%2Fdaily+20200108000000%21',
      '/cdx?url=site.test/daily&limit=-1&resumeKey=test%2Csite%29%2Fdaily+20200108000000%21',
      '/cdx?url=site.test/daily&sort=reverse&collapse=digest&resumeKey=test%2Csite%29%2Fdaily+20200108000000%21',
      '/cdx?url=site.test&dialect=klingon',
      '/cdx/outbackcdx?url=site.test/*&sort=reverse',
    ];
    for (const target of refused) {
      const reply = await get(target);
      assert.equal(reply.status, 400, target);
      const { error } = JSON.parse(reply.text);
      assert.ok(error.message.length > 5 && error.advice.length > 5, target);
      assert.doesNotMatch(reply.text, /\bat .*\.ts:/);
    }
    assert.equal((await get('/cdx/nowhere?url=site.test')).status, 404);
    assert.equal((await ask(server.uiAddress, '/cdx?url=x', { method: 'DELETE' })).status, 405);
    assert.equal((await get(`/cdx?url=${encodeURIComponent('http://[broken/%zz')}`)).status, 200);
  });
  assert.deepEqual(failures, []);
});

test('a line that a client of OutbackCDX posts is accepted if the archive has the capture', async (t) => {
  const { archive, server } = await makeServer(t);
  await archive.add([await writeHandOver(await temporaryDirectory(t))], { collection: 'given' });
  const authorization = `Bearer ${TOKEN}`;
  const post = (target: string, body: string, headers = { authorization } as Record<string, string>) =>
    ask(server.uiAddress, target, { method: 'POST', body, headers });
  const held =
    ' CDX N b a m s k r M S V g\n' +
    'test,example)/a 20240301100000 http://www.example.test/a text/html 200 X - - 347 0 hand-over.warc\n' +
    'test,example)/a 20240303100000 http://www.example.test/a warc/revisit 304 X - - 524 887 hand-over.warc\n';
  const cdxj =
    'test,example)/a 20240303100000 {"url": "http://www.example.test/a", "filename": "hand-over.warc", "offset": "1", "length": "2"}\n';
  const unknown = 'test,other)/ 20240301100000 http://other.test/ text/html 200 X - - 347 0 elsewhere.warc.gz\n';

  const taken = await post('/cdx/outbackcdx/given', held);
  assert.deepEqual([taken.status, taken.text], [200, 'Added 2 records\n']);
  assert.equal((await post('/cdx/outbackcdx', cdxj)).text, 'Added 1 records\n');
  const refused = await post('/cdx/outbackcdx/given', held + unknown);
  assert.equal(refused.status, 409);
  assert.match(
    JSON.parse(refused.text).error.message,
    /no capture of http:\/\/other\.test\/ at 20240301100000.*elsewhere/,
  );
  const skipped = await post('/cdx/outbackcdx?badLines=skip', unknown + held);
  assert.equal(skipped.status, 200);
  assert.match(skipped.text, /^Added 2 records\nSkipped 1 lines/);
  assert.equal((await post('/cdx/outbackcdx/given', held, {})).status, 401);
  assert.equal((await post('/cdx/outbackcdx/given', held, { authorization: 'Bearer wrong-token' })).status, 401);
  assert.equal((await post('/cdx/outbackcdx/given', held, { authorization, origin: server.replayUrl })).status, 403);
  assert.equal((await post('/cdx/outbackcdx/given/delete', held)).status, 409);
  assert.equal((await post('/cdx/outbackcdx/nothing', held)).status, 404);
  assert.equal((await ask(server.uiAddress, '/cdx?url=http://other.test/')).text, '');
});
