/**
 * Calls every route, with success and with failure, and checks every reply against the OpenAPI document. A route that
 * is not called fails the test.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { basename, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { createArchive } from '../../src/archive/index.ts';
import { formatFrame, readFrames } from '../../src/base/index.ts';
import {
  type CallOptions,
  type JobReply,
  leaveUpload,
  type Served,
  scratch,
  servedAt,
  storeDays,
  TOKEN,
  untilFound,
  writeWarc,
} from './served-archive.ts';

type Operation = {
  readonly security?: readonly object[];
  readonly responses: Record<string, { readonly content: Record<string, { readonly schema?: object }> }>;
};
type Document = {
  readonly openapi: string;
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: { readonly schemas: object };
};

/** Calls routes by their names in the document, and checks the replies against it. */
class Checker {
  readonly #served: Served;
  readonly #document: Document;
  readonly #ajv: Ajv2020;
  readonly #seen = new Map<string, Set<number>>();

  constructor(one: Served, document: Document) {
    this.#served = one;
    this.#document = document;
    this.#ajv = new Ajv2020({ strict: false, allErrors: true });
    this.#ajv.addSchema({ $id: 'document', components: document.components });
  }

  /** Calls a route such as `GET /api/captures/{id}`. `values` replace `{id}`; `search` follows the path. */
  async call(
    route: string,
    wanted: number,
    { values = {}, search = '', ...options }: CallOptions & { values?: Record<string, string>; search?: string } = {},
  ): Promise<Record<string, unknown>> {
    const [method, path] = route.split(' ') as [string, string];
    const target = path.replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? 'missing');
    const reply = await this.#served.call(`${target}${search}`, { method, ...options });
    assert.equal(reply.status, wanted, `${route}${search}: ${reply.bytes.toString().slice(0, 500)}`);
    const mime = (reply.headers.get('content-type') ?? '').split(';')[0]!;
    const json = mime === 'application/json' ? reply.json : undefined;
    this.check(route, reply.status, mime, json);
    return json ?? { bytes: reply.bytes };
  }

  check(route: string, status: number, mime: string, json: unknown): void {
    const [method, path] = route.split(' ') as [string, string];
    const operation = this.#document.paths[path]?.[method.toLowerCase()];
    assert.ok(operation, `${route} is not in the document`);
    const response = operation.responses[status === 206 ? 200 : status];
    assert.ok(response, `${route}: the document does not have status ${status}`);
    const described = response.content[mime] ?? response.content['application/octet-stream'];
    assert.ok(described, `${route}: the document does not have ${mime} with status ${status}`);
    if (json !== undefined && described.schema) this.#validate(`${route} ${status}`, described.schema, json);
    const seen = this.#seen.get(route) ?? new Set<number>();
    this.#seen.set(route, seen.add(status));
  }

  #validate(what: string, schema: object, value: unknown): void {
    const named = JSON.parse(JSON.stringify(schema).replaceAll('"#/components', '"document#/components')) as object;
    const validate = this.#ajv.compile(named);
    assert.ok(
      validate(value),
      `${what}: ${this.#ajv.errorsText(validate.errors)} in ${JSON.stringify(value).slice(0, 600)}`,
    );
  }

  /** Routes that have not succeeded, or have not failed. */
  missing(): string[] {
    const routes = Object.entries(this.#document.paths).flatMap(([path, operations]) =>
      Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
    );
    return routes.flatMap((route) => {
      const statuses = [...(this.#seen.get(route) ?? [])];
      const missing: string[] = [];
      if (!statuses.some((status) => status < 300)) missing.push(`${route} has not succeeded`);
      if (!statuses.some((status) => status >= 400)) missing.push(`${route} has not failed`);
      return missing;
    });
  }

  /** Routes that work without the token, and return more with it. */
  withOptionalToken(): string[] {
    return this.#guarded((security) => security.some((scheme) => Object.keys(scheme).length === 0));
  }

  /** Routes that need the token. */
  withToken(): string[] {
    return this.#guarded((security) => security.every((scheme) => Object.keys(scheme).length > 0));
  }

  #guarded(isMeant: (security: readonly object[]) => boolean): string[] {
    return Object.entries(this.#document.paths).flatMap(([path, operations]) =>
      Object.entries(operations)
        .filter(([, { security }]) => security !== undefined && isMeant(security))
        .map(([method]) => `${method.toUpperCase()} ${path}`),
    );
  }
}

async function checker(t: TestContext): Promise<{ one: Served; check: Checker }> {
  const directory = scratch(t);
  await createArchive(directory, { name: 'trial' });
  leaveUpload(directory, 'interrupted', Buffer.from('half added'));
  const one = await servedAt(t, directory, {
    isIndexing: true,
    runCommand: async ({ argv, stdout }) => {
      await stdout(Buffer.from(argv.join(' ')));
      return 0;
    },
  });
  await storeDays(one.archive, 'http://a.test/', [1, 1, 2]);
  await storeDays(one.archive, 'http://b.test/', [2, 3], 'second');
  const document = (await one.call('/api/openapi.json')).json as unknown as Document;
  return { one, check: new Checker(one, document) };
}

test('the replies of every route match the OpenAPI document, in success and in failure', async (t) => {
  const { one, check } = await checker(t);
  const foreign = { headers: { origin: 'http://evil.test' } };
  const at = (values: Record<string, string>) => ({ values });

  for (const route of ['GET /api/info', 'GET /api/volumes', 'GET /api/openapi.json']) {
    await check.call(route, 200);
    await check.call(route, 403, foreign);
  }
  await check.call('GET /api/stats', 200);
  await check.call('GET /api/stats', 200, { search: '?fresh=1' });
  await check.call('GET /api/stats', 400, { search: '?fresh=perhaps' });
  await check.call('GET /api/collections', 200);
  await check.call('GET /api/collections', 400, { search: '?shelf=1' });
  await check.call('GET /api/collections/{name}/growth', 200, at({ name: 'second' }));
  await check.call('GET /api/collections/{name}/growth', 404, at({ name: 'third' }));

  await check.call('GET /api/urls', 200, { search: '?limit=1' });
  await check.call('GET /api/urls', 200, { search: '?prefix=*.test' });
  await check.call('GET /api/urls', 400, { search: '?limit=0' });
  const url = '?url=http://a.test/';
  const { items } = (await check.call('GET /api/captures', 200, { search: url })) as { items: { id: string }[] };
  assert.equal(items.length, 3);
  await check.call('GET /api/captures', 200, { search: `${url}&order=desc&limit=1&from=2024&to=20240302` });
  await check.call('GET /api/captures', 400, { search: `${url}&from=yesterday` });
  await check.call('GET /api/captures', 400, { search: `${url}&after=nowhere!` });
  await check.call('GET /api/captures', 400);
  await check.call('GET /api/calendar', 200, { search: url });
  await check.call('GET /api/calendar', 200, { search: '?url=http://none.test/' });
  await check.call('GET /api/calendar', 400);
  await check.call('GET /api/neighbours', 200, { search: `${url}&time=2024` });
  await check.call('GET /api/neighbours', 200, { search: '?url=http://none.test/&time=2024' });
  await check.call('GET /api/neighbours', 400, { search: `${url}&time=later` });
  const known = at({ id: items[1]!.id });
  for (const route of ['GET /api/captures/{id}', 'GET /api/captures/{id}/text', 'GET /api/captures/{id}/source']) {
    await check.call(route, 200, known);
    await check.call(route, 404, at({ id: 'x.1.00000000.1' }));
  }

  await untilFound(one, 'scroll', 2);
  await check.call('GET /api/search', 200, { search: '?q=scroll&facets=1&limit=1&sort=date&asOf=2025' });
  await check.call('GET /api/search', 200, { search: '?q=scroll&group=capture' });
  await check.call('GET /api/search', 400, { search: '?q=size%3Ebig' });
  await check.call('GET /api/links', 200, { search: `${url}&direction=out` });
  await check.call('GET /api/links', 400, { search: `${url}&direction=up` });
  await check.call('GET /api/appearances', 200, { search: `${url}&q="scroll 2"` });
  await check.call('GET /api/appearances', 400, { search: `${url}&q="scroll` });

  const segments = (await check.call('GET /api/segments', 200)) as { items: { volume: string; name: string }[] };
  await check.call('GET /api/segments', 400, { search: '?after=x' });
  await check.call('GET /api/stream', 200, { search: '?format=jsonl' });
  await check.call('GET /api/stream', 404, { search: '?collection=nowhere' });
  await check.call('GET /api/stream', 400, { search: '?cursor=nothing' });
  const { volume, name } = segments.items[0]!;
  await check.call('GET /api/segments/{volume}/{name}', 200, at({ volume, name }));
  await check.call('GET /api/segments/{volume}/{name}', 206, {
    ...at({ volume, name }),
    headers: { range: 'bytes=0-3' },
  });
  await check.call('GET /api/segments/{volume}/{name}', 416, {
    ...at({ volume, name }),
    headers: { range: 'bytes=9999999-' },
  });
  await check.call('GET /api/segments/{volume}/{name}', 404, at({ volume, name: '../../archive.yaml' }));

  const begin = async (kind: string, input: object): Promise<JobReply> => {
    const job = await check.call('POST /api/jobs', 202, { json: { kind, input } });
    const over = await one.overJob((job as unknown as JobReply).id);
    await check.call('GET /api/jobs/{id}', 200, at({ id: over.id }));
    return over;
  };
  const file = join(one.directory, 'three.warc.gz');
  await writeWarc(file, 'three', 3);
  assert.equal((await begin('add', { paths: [file], collection: 'third' })).state, 'done');
  assert.equal((await begin('verify', { depth: 'quick' })).state, 'done');
  const failed = await begin('add', { paths: [join(one.directory, 'nowhere.warc')] });
  assert.deepEqual([failed.state, failed.error?.code], ['failed', 'FILE_MISSING']);
  const exported = await begin('export', { format: 'wacz', selection: { collection: 'third' } });
  const { href } = exported.report as { href: string };
  await check.call('GET /api/exports/{jobId}/{file}', 200, at({ jobId: exported.id, file: basename(href) }));
  await check.call('GET /api/exports/{jobId}/{file}', 404, at({ jobId: exported.id, file: 'other.wacz' }));
  await check.call('DELETE /api/exports/{jobId}', 200, at({ jobId: exported.id }));
  await check.call('DELETE /api/exports/{jobId}', 404, at({ jobId: exported.id }));
  await check.call('POST /api/jobs', 400, { json: { kind: 'fly', input: {} } });
  await check.call('POST /api/jobs', 400, { json: { kind: 'verify', input: { depth: 'deep' } } });
  await check.call('GET /api/jobs/{id}', 404, at({ id: 'none' }));
  await check.call('GET /api/jobs', 200, { search: '?limit=2' });
  await check.call('GET /api/jobs', 400, { search: '?limit=many' });
  await check.call('POST /api/jobs/{id}/cancel', 200, { ...at({ id: exported.id }), json: {} });
  await check.call('POST /api/jobs/{id}/cancel', 404, { ...at({ id: 'none' }), json: {} });
  for (const route of ['GET /api/jobs/events', 'GET /api/jobs/{id}/events']) {
    const target = route.split(' ')[1]!.replace('{id}', exported.id);
    const response = await fetch(`${one.server.uiAddress}${target}`);
    check.check(route, response.status, 'text/event-stream', undefined);
    await response.body!.cancel();
    await check.call(route, 403, { ...at({ id: exported.id }), ...foreign });
  }

  const selection = { collection: 'third' };
  const { token } = await check.call('POST /api/deletes/preview', 200, { json: { selection } });
  await check.call('POST /api/deletes/preview', 400, { json: { selection: {} } });
  await check.call('POST /api/deletes/preview', 404, { json: { selection: { collection: 'none' } } });
  await check.call('POST /api/deletes', 409, { json: { selection, token: 'guess' } });
  const deleted = await check.call('POST /api/deletes', 202, { json: { selection, token } });
  assert.equal((await one.overJob((deleted as unknown as JobReply).id)).state, 'done');
  const barred = { urls: ['http://nowhere.test/'] };
  const { captures } = await check.call('POST /api/takedowns/preview', 200, { json: barred });
  await check.call('POST /api/takedowns/preview', 400, { json: {} });
  const takenDown = await check.call('POST /api/takedowns', 202, { json: { ...barred, captures, reason: 'asked' } });
  assert.equal((await one.overJob((takenDown as unknown as JobReply).id)).state, 'done');
  await check.call('GET /api/nodes', 200);
  await check.call('GET /api/takedowns', 200);
  const searched = await check.call('POST /api/takedowns/check', 202, { json: {} });
  assert.equal((await one.overJob((searched as unknown as JobReply).id)).state, 'done');
  await check.call('GET /api/takedowns/log', 200);
  await check.call('GET /api/session', 200);
  await check.call('GET /api/session', 403, foreign);
  await check.call('POST /api/session/replay', 200, { json: {} });
  await check.call('POST /api/session/replay', 400, { json: { right: 'admin' } });
  await check.call('GET /api/audit', 200, { search: '?limit=2&outcome=begun' });
  await check.call('GET /api/audit', 400, { search: '?since=yesterday' });
  await check.call('GET /api/audit', 400, { search: '?after=nowhere' });
  await check.call('GET /api/takedowns/{id}', 200, at({ id: '1' }));
  await check.call('GET /api/takedowns/{id}', 404, at({ id: '99' }));
  const receipt = await fetch(`${one.server.uiAddress}/api/takedowns/1/receipt`, {
    headers: { authorization: `Bearer ${TOKEN}` },
  });
  check.check('GET /api/takedowns/{id}/receipt', receipt.status, 'text/html', undefined);
  await check.call('GET /api/takedowns/{id}/receipt', 404, at({ id: '99' }));
  assert.equal((await begin('compact', {})).state, 'done');
  assert.equal((await begin('rebuild', {})).state, 'done');

  await check.call('POST /api/uploads', 202, { search: '?name=three.warc.gz', body: readFileSync(file) });
  await check.call('POST /api/uploads', 422, { search: '?name=three.warc.gz', body: Buffer.from('no archive') });
  await check.call('DELETE /api/uploads/{jobId}', 200, at({ jobId: 'interrupted' }));
  await check.call('DELETE /api/uploads/{jobId}', 404, at({ jobId: 'interrupted' }));
  await check.call('POST /api/commands', 403, { body: formatFrame('I') });
  check.check('POST /api/commands', await runCommand(one, ['stats']), 'application/x-pinakes-frames', undefined);

  await callContents(check);

  for (const route of check.withToken()) {
    const json = route.startsWith('GET ') ? {} : { json: {} };
    await check.call(route, 401, { values: { id: exported.id, jobId: exported.id }, token: '', ...json });
  }
  await check.call('GET /api/jobs', 200, { token: '' });
  await check.call('GET /api/jobs/{id}', 200, { ...at({ id: exported.id }), token: '' });
  // The replies to wrong tokens are delayed.
  await Promise.all(check.withOptionalToken().map((route) => check.call(route, 401, { token: 'wrong' })));
  assert.deepEqual(check.missing(), []);
});

/** Calls the routes of contents. */
async function callContents(check: Checker): Promise<void> {
  const content = Buffer.from('a content of some length '.repeat(40));
  const digest = createHash('sha256').update(content).digest('hex');
  const values = { digest, key: digest };
  const capture = { id: 'first', time: '2024-03-01T10:00:00Z', captures: [{ digest }] };
  await check.call('POST /api/contents/missing', 200, { json: { digests: [digest] } });
  await check.call('POST /api/contents/missing', 400, { json: { digests: ['x'] } });
  await check.call('POST /api/contents/missing', 415, { json: {}, headers: { 'content-encoding': 'br' } });
  await check.call('GET /api/contents/{key}', 404, { values });
  await check.call('POST /api/contents/captures', 200, { json: capture });
  await check.call('PUT /api/contents/{digest}', 422, { values, search: '?size=3', body: Buffer.from('abc') });
  await check.call('PUT /api/contents/{digest}', 409, { values, search: '?size=9&offset=5', body: Buffer.from('abc') });
  await check.call('GET /api/contents/{digest}/upload', 200, { values });
  await check.call('GET /api/contents/{digest}/upload', 400, { values: { digest: 'x' } });
  await check.call('PUT /api/contents/{digest}', 200, { values, search: `?size=${content.length}`, body: content });
  await check.call('POST /api/contents/captures', 200, { json: { ...capture, keys: true } });
  await check.call('POST /api/contents/captures', 400, { json: { ...capture, captures: [] } });
  await check.call('GET /api/contents/{key}', 200, { values });
  await check.call('GET /api/contents/{key}', 206, { values, headers: { range: 'bytes=5-9' } });
  await check.call('GET /api/contents/{key}', 416, { values, headers: { range: 'bytes=5000-' } });
  const member = gzipSync('WARC/1.1\r\nWARC-Type: warcinfo\r\nContent-Length: 0\r\n\r\n\r\n\r\n');
  await check.call('POST /api/contents/records', 200, { body: formatFrame('W', member) });
  await check.call('POST /api/contents/records', 422, { body: formatFrame('W', 'no record at all') });
  await check.call('POST /api/contents/records', 400, { body: formatFrame('?', '') });
  await check.call('DELETE /api/contents/{key}', 200, { values });
  await check.call('DELETE /api/contents/{key}', 404, { values });
}

/** Sends a command as the command line does, and returns the status. */
async function runCommand(one: Served, argv: string[]): Promise<number> {
  return new Promise((resolve, reject) => {
    const sending = request(
      {
        socketPath: one.server.commandPath,
        path: '/api/commands',
        method: 'POST',
        headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/x-pinakes-frames' },
      },
      async (response) => {
        const kinds: string[] = [];
        for await (const { kind, bytes } of readFrames(response)) kinds.push(`${kind}${bytes.toString()}`);
        sending.end();
        assert.deepEqual(kinds, ['Ostats', 'X0']);
        resolve(response.statusCode!);
      },
    );
    sending.on('error', reject);
    sending.write(
      formatFrame('C', JSON.stringify({ argv, directory: '/', isTerminal: false, columns: 80, user: 'ada' })),
    );
  });
}

test('the document is OpenAPI 3.1, has the input of each job kind, and marks the routes that need the token', async (t) => {
  const { one, check } = await checker(t);
  const document = (await one.call('/api/openapi.json', { token: '' })).json as unknown as Document;
  assert.equal(document.openapi, '3.1.0');
  assert.deepEqual(check.withToken().sort(), [
    'DELETE /api/contents/{key}',
    'DELETE /api/exports/{jobId}',
    'DELETE /api/uploads/{jobId}',
    'GET /api/audit',
    'GET /api/contents/{digest}/upload',
    'GET /api/nodes',
    'GET /api/takedowns',
    'GET /api/takedowns/log',
    'GET /api/takedowns/{id}',
    'GET /api/takedowns/{id}/receipt',
    'POST /api/commands',
    'POST /api/contents/captures',
    'POST /api/contents/missing',
    'POST /api/contents/records',
    'POST /api/deletes',
    'POST /api/deletes/preview',
    'POST /api/jobs',
    'POST /api/jobs/{id}/cancel',
    'POST /api/takedowns',
    'POST /api/takedowns/check',
    'POST /api/takedowns/preview',
    'POST /api/uploads',
    'PUT /api/contents/{digest}',
  ]);
  const text = JSON.stringify(document.paths['/api/jobs']!.post);
  for (const kind of ['add', 'compact', 'delete', 'export', 'rebuild', 'takedown', 'takedown-check', 'verify'])
    assert.match(text, new RegExp(`"const":"${kind}"`));
});
