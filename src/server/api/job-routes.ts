/** Routes for jobs, and for deletions, which are jobs that need a preview first. */
import { type TSchema, Type } from 'typebox';
import { parseW3cDate } from '../../base/index.ts';
import type { Job } from '../../jobs/index.ts';
import { AUDIT_ACTIONS } from '../audit/audit-entry.ts';
import { type Audited, whoOf } from '../audit/auditor.ts';
import { requireRight } from '../http/guard.ts';
import { badRequest, HttpProblem, invalidCursor } from '../http/problem.ts';
import { uploadOf } from '../jobs/add-kind.ts';
import { NOT_CANCELLABLE } from '../jobs/job-error.ts';
import type { JobKind } from '../jobs/job-kind.ts';
import { Count, closed, countOf, DeletionInput, limitOf, named, PageCursor } from '../schema.ts';
import { deletionOf } from '../selection-input.ts';
import type { Access } from '../tokens/access.ts';
import type { ApiServices } from './api-services.ts';
import { JobItem, jobItem, mayFollow, publicJobItem, rightOfKind } from './job-item.ts';
import { ANSWERED, type ApiRoute, type Call, route } from './route.ts';
import { checkFor } from './validation.ts';

const TAG = 'jobs';
const TOKEN_NOTE =
  'Input, report, error and log are in the reply only with the token; kind, state, times and numbers always.';

const Preview = named('DeletePreview', {
  captures: Count,
  addresses: countOf('URLs of these captures.'),
  contents: countOf('Contents that no capture will refer to any more.'),
  contentBytes: countOf('Payload bytes of these contents, which compaction will free.'),
  contentsKept: countOf('Contents that stay because other captures share them.'),
  examples: Type.Array(Type.String(), { description: 'Some of the URLs.' }),
  exampleCaptures: Type.Array(Count, { description: 'How many captures each of these URLs has in the selection.' }),
});

const PreviewedDelete = named('PreviewedDelete', {
  preview: Preview,
  token: Type.String({
    description: 'Proves that this preview was shown. Valid for an hour, unless the selected captures change.',
  }),
});

const ById = closed({ id: Type.String({ minLength: 1, maxLength: 100 }) });
const accepted = { status: 202, schema: JobItem, description: 'The job, which waits or runs.' } as const;

/** A new job: each kind with its own input. */
function newJobSchema(kinds: readonly JobKind[]): TSchema {
  return Type.Union(kinds.map(({ name, input }) => closed({ kind: Type.Literal(name), input })));
}

type Services = Pick<
  ApiServices,
  'auditor' | 'archive' | 'kinds' | 'jobs' | 'events' | 'tickets' | 'files' | 'stopping'
>;

export function jobRoutes(services: Services): ApiRoute[] {
  const { archive, kinds, jobs, events, tickets, stopping } = services;
  const checks = new Map(kinds.map(({ name, input }) => [name, checkFor(input, 'body/input')]));
  const checkedJob = (name: string, input: unknown): JobKind => {
    const kind = kinds.find((one) => one.name === name);
    if (!kind) {
      const advice = `The kinds are ${[...checks.keys()].join(', ')}.`;
      throw badRequest(`there is no job kind ${name.slice(0, 100)}`, advice, 'body/kind');
    }
    const checked = checks.get(name)!(input);
    if ('error' in checked) throw checked.error;
    return kind;
  };
  const start = (access: Access, kind: JobKind, input: unknown) => startJob(services, access, kind, input);
  const itemOf = (access: Access) => (job: Job) => (mayFollow(access, job) ? jobItem(job) : publicJobItem(job));
  const jobOf = async (id: string): Promise<Job> => {
    const job = await jobs.queue.get(id);
    if (job) return job;
    throw new HttpProblem({
      status: 404,
      code: 'JOB_MISSING',
      message: 'there is no such job',
      advice: 'GET /api/jobs lists the jobs. Jobs that ended long ago are dropped.',
      where: id.slice(0, 100),
    });
  };
  const sendEvents = ({ request, reply, access }: Call<unknown, unknown, unknown>, jobId?: string) => {
    reply.hijack();
    const lastEventId = singleValue(request.headers['last-event-id']);
    events.send(reply.raw, { jobId, lastEventId, itemOf: itemOf(access), stopping });
    return ANSWERED;
  };
  return [
    route({
      method: 'GET',
      right: 'read',
      path: '/api/jobs',
      tag: TAG,
      summary: 'Jobs, newest first',
      description: TOKEN_NOTE,
      query: closed({ after: Type.Optional(PageCursor), limit: limitOf(200, 50) }),
      reply: {
        status: 200,
        schema: closed({ items: Type.Array(JobItem), next: Type.Optional(Type.String()) }),
        description: 'A page of jobs.',
      },
      tokenShowsMore: true,
      handle: async ({ query: { after, limit = 50 }, access }) => {
        const all = await jobs.queue.list();
        const rest = after === undefined ? all : jobsAfter(all, after);
        const items = rest.slice(0, limit);
        return { items: items.map(itemOf(access)), ...(rest.length > limit && { next: cursorAt(items.at(-1)!) }) };
      },
    }),
    route({
      method: 'POST',
      right: 'some',
      audit: 'job',
      path: '/api/jobs',
      tag: TAG,
      summary: 'Start a job',
      body: closed({ kind: Type.String(), input: Type.Unknown() }),
      bodyInDocument: newJobSchema(kinds),
      reply: accepted,
      problems: [409, 429],
      handle: async ({ body, access }) => {
        const job = checkedJob(body.kind, body.input);
        requireRight(access, rightOfKind(body.kind));
        if (body.kind === 'delete') {
          const { token, selection } = body.input as { selection: DeletionInput; token: string };
          refuseEverything(selection);
          tickets.checkSignature(token, selection);
        }
        return start(access, job, body.input);
      },
    }),
    route({
      method: 'GET',
      right: 'read',
      path: '/api/jobs/events',
      tag: TAG,
      summary: 'Changes of all jobs, as server-sent events',
      description:
        'Events are named `job`, and their data is a job. The first events are all jobs, or those that changed since Last-Event-ID.',
      reply: { status: 200, mime: 'text/event-stream', description: 'Events, until the client leaves.' },
      tokenShowsMore: true,
      handle: async (call) => sendEvents(call),
    }),
    route({
      method: 'GET',
      right: 'read',
      path: '/api/jobs/:id',
      tag: TAG,
      summary: 'One job',
      description: TOKEN_NOTE,
      params: ById,
      reply: { status: 200, schema: JobItem, description: 'The job.' },
      problems: [404],
      tokenShowsMore: true,
      handle: async ({ params, access }) => itemOf(access)(await jobOf(params.id)),
    }),
    route({
      method: 'GET',
      right: 'read',
      path: '/api/jobs/:id/events',
      tag: TAG,
      summary: 'Changes of one job, as server-sent events',
      params: ById,
      reply: { status: 200, mime: 'text/event-stream', description: 'Events, until the client leaves.' },
      problems: [404],
      tokenShowsMore: true,
      handle: async (call) => sendEvents(call, (await jobOf(call.params.id)).id),
    }),
    route({
      method: 'POST',
      right: 'some',
      audit: 'cancel',
      path: '/api/jobs/:id/cancel',
      tag: TAG,
      summary: 'Ask a job to stop',
      description:
        'The job stops at its next safe point and keeps what it did so far. Nothing happens to a job that has ended.',
      params: ById,
      reply: { status: 200, schema: JobItem, description: 'The job as it is now.' },
      problems: [404, 409],
      handle: async ({ params, access, note }) => {
        const job = await jobOf(params.id);
        const { id, kind } = job;
        note({ kind });
        if (!mayFollow(access, job)) requireRight(access, 'admin');
        if ((await jobs.queue.cancel(id)) === 'refused') throw new HttpProblem(NOT_CANCELLABLE);
        return jobItem(await jobOf(id));
      },
    }),
    route({
      method: 'POST',
      right: 'delete',
      audit: 'none',
      path: '/api/deletes/preview',
      tag: TAG,
      summary: 'What a deletion would remove',
      body: closed({ selection: DeletionInput }),
      reply: {
        status: 200,
        schema: PreviewedDelete,
        description: 'What would be removed.',
      },
      problems: [404],
      handle: async ({ body: { selection }, signal }) => {
        refuseEverything(selection);
        await using seen = await archive.view();
        const token = await tickets.issue(selection, seen, signal);
        return { preview: await archive.previewDelete(await deletionOf(archive, selection), { seen }), token };
      },
    }),
    route({
      method: 'POST',
      right: 'delete',
      audit: 'delete',
      path: '/api/deletes',
      tag: TAG,
      summary: 'Delete what a preview showed',
      description:
        'Refused unless the captures are exactly those of the preview. `compact` then removes the bytes from the segments.',
      body: closed({ selection: DeletionInput, token: Type.String({ maxLength: 500 }) }),
      reply: accepted,
      problems: [404, 409, 429],
      handle: async ({ body: { selection, token }, access, signal }) => {
        refuseEverything(selection);
        await tickets.check(token, selection, archive, signal);
        return start(access, checkedJob('delete', { selection, token }), { selection, token });
      },
    }),
  ];
}

/** Submits a job, and enters its end into the audit log. */
export async function startJob(
  { jobs, files, auditor }: Pick<ApiServices, 'jobs' | 'files' | 'auditor'>,
  access: Access,
  kind: JobKind,
  input: unknown,
): Promise<JobItem> {
  await files.requireUpload(uploadOf(input));
  const by = access.actor;
  const { job, over } = await jobs.submit(kind.name, { origin: 'api', by, input, lane: kind.lane ?? 'write' });
  // The reply does not wait for the end, and neither does a failure to enter it harm the job.
  void over.then((ended) => auditor.add(whoOf(access), endOf(ended))).catch(() => {});
  return jobItem(job);
}

/** What the audit log says of the end of a job. */
function endOf({ id, kind, state, report, error }: Job): Audited {
  const action = AUDIT_ACTIONS.find((one) => one === kind) ?? 'job';
  const outcome = state === 'done' || state === 'cancelled' ? state : 'failed';
  const counts = Object.entries((report ?? {}) as object).filter(([, fact]) => typeof fact === 'number');
  const what = { job: id, ...(action === 'job' && { kind }), ...Object.fromEntries(counts) };
  return { action, outcome, what, ...(error && { code: error.code }) };
}

/** The cursor after a job. It has the time of the job too, because the job may be dropped before the next page. */
function cursorAt({ createdAt, id }: Job): string {
  return `${createdAt}~${id}`;
}

/** The jobs after a cursor; `jobs` has the newest first. */
function jobsAfter(jobs: readonly Job[], cursor: string): readonly Job[] {
  const [createdAt = '', id] = cursor.split('~');
  const time = parseW3cDate(createdAt);
  if (time === undefined || id === undefined) throw invalidCursor();
  const at = jobs.findIndex((job) => job.id === id);
  if (at >= 0) return jobs.slice(at + 1);
  return jobs.filter((job) => (parseW3cDate(job.createdAt) ?? 0) <= time);
}

function refuseEverything(selection: DeletionInput): void {
  if (Object.keys(selection).length > 0) return;
  throw badRequest(
    'the selection is empty, which would select everything',
    'Name the captures to delete.',
    'body/selection',
  );
}

function singleValue(field: string | string[] | undefined): string | undefined {
  return typeof field === 'string' ? field : undefined;
}
