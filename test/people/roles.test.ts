/** The table of rights: every route with every role, and what each role can see of jobs. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ROLES } from '../../src/server/index.ts';
import { storeDays } from '../api/served-archive.ts';
import { asPage, codeOf, type Library, library, signIn } from './library.ts';
import { Visitor } from './oidc-service.ts';

const MEMBER_OF = { reader: 'rita', curator: 'carl', administrator: 'ada' } as const;
const RIGHTS_OF: Readonly<Record<(typeof ROLES)[number], readonly string[]>> = {
  reader: ['read'],
  curator: ['read', 'add', 'crawl', 'delete'],
  administrator: ['read', 'add', 'crawl', 'delete', 'admin'],
};
/** Rights that anybody has on a server that is not private, or that the handler decides on. */
const FREE = ['open', 'self', 'some'];

type Route = { readonly method: string; readonly path: string; readonly right: string; readonly audit: string };

async function routesOf(one: Library): Promise<Route[]> {
  const { paths } = (await one.call('/api/openapi.json')).json as { paths: Record<string, Record<string, object>> };
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => {
      const { 'x-right': right, 'x-audit': audit } = operation as { 'x-right': string; 'x-audit': string };
      return { method: method.toUpperCase(), path: path.replace(/\{(\w+)\}/g, 'a'.repeat(64)), right, audit };
    }),
  );
}

test('every route refuses each role that lacks its right, and nobody who has it', async (t) => {
  const one = await library(t, { isPrivate: true });
  const routes = await routesOf(one);
  assert.ok(routes.length > 40);
  for (const role of ROLES) {
    const visitor = new Visitor();
    await signIn(visitor, one, MEMBER_OF[role]);
    for (const { method, path, right } of routes) {
      const hasBody = method === 'POST' || method === 'PUT';
      const response = await asPage(visitor, one, path, { method, ...(hasBody && { headers: { 'x-body': 'none' } }) });
      const text = response.headers.get('content-type')?.includes('event-stream') ? '' : await response.text();
      await response.body?.cancel().catch(() => {});
      const isRefused = response.status === 403 && text.includes('RIGHT_MISSING');
      const isEnough = FREE.includes(right) || RIGHTS_OF[role].includes(right);
      assert.equal(isRefused, !isEnough, `${method} ${path} as a ${role}: ${response.status} ${text.slice(0, 200)}`);
    }
  }
  const stranger = new Visitor();
  for (const { method, path, right } of routes) {
    if (right === 'open' || right === 'self') continue;
    const response = await asPage(stranger, one, path, { method });
    assert.deepEqual([response.status, await codeOf(response)], [401, 'SIGN_IN_NEEDED'], `${method} ${path}`);
  }
});

test('the audit log has every route that changes something', async (t) => {
  const one = await library(t);
  const routes = (await routesOf(one)).filter(
    ({ method, right }) => method !== 'GET' && !['read', 'open'].includes(right),
  );
  const left = routes.filter(({ audit }) => audit === 'none').map(({ method, path }) => `${method} ${path}`);
  assert.deepEqual(
    left.sort(),
    [
      // They only look.
      'POST /api/contents/missing',
      'POST /api/deletes/preview',
      'POST /api/takedowns/preview',
      // The command enters itself.
      'POST /api/commands',
      // Nothing is stored until a capture refers to it.
      `PUT /api/contents/${'a'.repeat(64)}`,
    ].sort(),
  );
});

test('a curator starts, follows and stops jobs of curators, and no others', async (t) => {
  const one = await library(t);
  await storeDays(one.archive, 'http://a.test/', [1]);
  const [carl, rita] = [new Visitor(), new Visitor()];
  await signIn(carl, one, 'carl');
  await signIn(rita, one, 'rita');
  for (const kind of ['verify', 'export', 'compact', 'rebuild', 'takedown'])
    assert.equal((await asPage(carl, one, '/api/jobs', { json: { kind, input: {} } })).status === 202, false, kind);
  for (const kind of ['add', 'crawl', 'delete', 'verify']) {
    const refused = await asPage(rita, one, '/api/jobs', { json: { kind, input: inputOf(kind) } });
    assert.deepEqual([refused.status, await codeOf(refused)], [403, 'RIGHT_MISSING'], kind);
  }
  const begun = await asPage(carl, one, '/api/jobs', { json: { kind: 'add', input: { paths: ['/nowhere/a.warc'] } } });
  assert.equal(begun.status, 202);
  const { id, by } = (await begun.json()) as { id: string; by: object };
  assert.deepEqual(by, { kind: 'person', name: 'carl' });
  await one.overJob(id);
  const seenBy = async (visitor: Visitor) =>
    (await (await asPage(visitor, one, `/api/jobs/${id}`)).json()) as Record<string, unknown>;
  assert.ok((await seenBy(carl)).error, 'what went wrong');
  assert.deepEqual((await seenBy(carl)).by, { kind: 'person', name: 'carl' });
  assert.equal((await seenBy(rita)).error, undefined);
  assert.equal((await seenBy(rita)).by, undefined, 'names are not for everybody');
  assert.equal((await asPage(carl, one, `/api/jobs/${id}/cancel`, { json: {} })).status, 200);
  assert.equal((await asPage(rita, one, `/api/jobs/${id}/cancel`, { json: {} })).status, 403);
  const verify = (await one.call('/api/jobs', { json: { kind: 'verify', input: {} } })).json as { id: string };
  await one.overJob(verify.id);
  assert.equal((await asPage(carl, one, `/api/jobs/${verify.id}/cancel`, { json: {} })).status, 403);
  // The end is entered when the job has ended, and nobody waits for that.
  let ends = await entriesOf(one, id);
  while (ends.length < 2) ends = await entriesOf(one, id);
  assert.deepEqual(ends.sort(), ['add begun', 'add failed']);
});

/** What the audit log says of a job. */
async function entriesOf(one: Library, id: string): Promise<string[]> {
  const { items } = (await one.call('/api/audit')).json as {
    items: { action: string; outcome: string; what?: { job?: string } }[];
  };
  return items.flatMap(({ action, outcome, what }) => (what?.job === id ? [`${action} ${outcome}`] : []));
}

/** An input that the schema of a kind accepts. */
function inputOf(kind: string): object {
  if (kind === 'add') return { paths: ['/nowhere/a.warc'] };
  if (kind === 'crawl') return { seeds: ['http://a.test/'] };
  return kind === 'delete' ? { selection: { url: 'http://a.test/' }, token: 'guess' } : {};
}
