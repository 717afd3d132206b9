/** Routes about jobs, and about deletions, which are jobs that want to be looked at first. */
import { type TSchema, Type } from 'typebox';
import { parseW3cDate } from '../../base/index.ts';
import { selectionOf } from '../asked-selection.ts';
import { badRequest, HttpProblem } from '../http/problem.ts';
import { isInterrupted, Job, type ToldJob, toldInPublic, toldJob } from '../jobs/job.ts';
import type { JobKind } from '../jobs/job-kind.ts';
import { After, Count, closed, limitOf, named, Selection } from '../shape.ts';
import { type ApiTools, uploadOf } from './api-tools.ts';
import { ANSWERED, type ApiRoute, route } from './route.ts';
import { checkFor } from './validation.ts';

const TAG = 'jobs';
const TOLD =
  'What jobs are about and what came of them is told to who shows the token; kind, state, times and numbers to all.';

const Preview = named('DeletePreview', {
  captures: Count,
  addresses: Type.Integer({ minimum: 0, description: 'URLs that they are of.' }),
  contents: Type.Integer({ minimum: 0, description: 'Contents that nothing will refer to any more.' }),
  contentBytes: Type.Integer({ minimum: 0, description: 'Their payload bytes, which compaction will free.' }),
  contentsKept: Type.Integer({ minimum: 0, description: 'Contents that other captures share, and that stay.' }),
  examples: Type.Array(Type.String(), { description: 'Some of the URLs.' }),
  exampleCaptures: Type.Array(Count, { description: 'How many captures of each of these.' }),
});

const PreviewedDelete = named('PreviewedDelete', {
  preview: Preview,
  token: Type.String({ description: 'Shows that this was seen; good for an hour, while nothing of it changes.' }),
});

const ById = closed({ id: Type.String({ minLength: 1, maxLength: 100 }) });
const accepted = { status: 202, schema: Job, says: 'The job, which waits for its turn or runs.' } as const;

/** What a job of one of the kinds takes: each kind with its own input. */
function newJobSchema(kinds: readonly JobKind[]): TSchema {
  return Type.Union(kinds.map(({ name, input }) => closed({ kind: Type.Literal(name), input })));
}

export function jobRoutes(tools: ApiTools): ApiRoute[] {
  const { archive, kinds, jobs, events, tickets, uploads, stopping } = tools;
  const checks = new Map(kinds.map(({ name, input }) => [name, checkFor(input, 'body/input')]));
  const checkedJob = (name: string, input: unknown): JobKind => {
    const kind = kinds.find((one) => one.name === name);
    if (!kind) {
      const advice = `There are ${[...checks.keys()].join(', ')}.`;
      throw badRequest(`there are no jobs of the kind ${name.slice(0, 100)}`, advice, 'body/kind');
    }
    const checked = checks.get(name)!(input);
    if ('error' in checked) throw checked.error;
    return kind;
  };
  const begin = async (kind: JobKind, input: unknown): Promise<ToldJob> => {
    const upload = uploadOf(input);
    const { job } = await jobs.submit({
      kind: kind.name,
      origin: 'api',
      input,
      lane: kind.lane ?? 'write',
      isCancellable: kind.isCancellable,
      run: (context) => kind.run(context),
      // An upload is needed until its job is over; one that was interrupted can be run again.
      onOver: async (over) => {
        if (upload !== '' && !isInterrupted(over)) await uploads.remove(upload);
      },
    });
    return toldJob(job);
  };
  const told = (hasToken: boolean) => (hasToken ? toldJob : toldInPublic);
  const jobOf = (id: string): Job => {
    const job = jobs.get(id);
    if (job) return job;
    throw new HttpProblem({
      status: 404,
      code: 'JOB_MISSING',
      message: 'there is no such job',
      advice: 'GET /api/jobs lists the jobs; those that ended long ago are forgotten.',
      where: id.slice(0, 100),
    });
  };
  return [
    route({
      method: 'GET',
      path: '/api/jobs',
      tag: TAG,
      summary: 'Jobs, the newest first',
      says: TOLD,
      query: closed({ after: Type.Optional(After), limit: limitOf(200, 50) }),
      reply: {
        status: 200,
        schema: closed({ items: Type.Array(Job), next: Type.Optional(Type.String()) }),
        says: 'A page of jobs.',
      },
      tokenShowsMore: true,
      handle: async ({ query: { after, limit = 50 }, hasToken }) => {
        const all = jobs.list();
        const rest = after === undefined ? all : behind(all, after);
        const items = rest.slice(0, limit);
        return { items: items.map(told(hasToken)), ...(rest.length > limit && { next: placeOf(items.at(-1)!) }) };
      },
    }),
    route({
      method: 'POST',
      path: '/api/jobs',
      tag: TAG,
      summary: 'Begin a job',
      body: closed({ kind: Type.String(), input: Type.Unknown() }),
      bodyInDocument: newJobSchema(kinds),
      reply: accepted,
      problems: [409, 429],
      needsToken: true,
      handle: async ({ body }) => {
        const job = checkedJob(body.kind, body.input);
        if (body.kind === 'delete') {
          const { token, selection } = body.input as { selection: Selection; token: string };
          refuseEverything(selection);
          tickets.checkSeal(token, selection);
        }
        return begin(job, body.input);
      },
    }),
    route({
      method: 'GET',
      path: '/api/jobs/events',
      tag: TAG,
      summary: 'Changes of all jobs, as server-sent events',
      says: 'Event `job`, its data a job. First come all jobs, or those that changed since Last-Event-ID.',
      reply: { status: 200, mime: 'text/event-stream', says: 'Events, until the client leaves.' },
      tokenShowsMore: true,
      handle: async ({ request, reply, hasToken }) => {
        reply.hijack();
        const lastEventId = textOf(request.headers['last-event-id']);
        events.send(reply.raw, { lastEventId, told: told(hasToken), stopping });
        return ANSWERED;
      },
    }),
    route({
      method: 'GET',
      path: '/api/jobs/:id',
      tag: TAG,
      summary: 'One job',
      says: TOLD,
      params: ById,
      reply: { status: 200, schema: Job, says: 'The job.' },
      problems: [404],
      tokenShowsMore: true,
      handle: async ({ params, hasToken }) => told(hasToken)(jobOf(params.id)),
    }),
    route({
      method: 'GET',
      path: '/api/jobs/:id/events',
      tag: TAG,
      summary: 'Changes of one job, as server-sent events',
      params: ById,
      reply: { status: 200, mime: 'text/event-stream', says: 'Events, until the client leaves.' },
      problems: [404],
      tokenShowsMore: true,
      handle: async ({ params, request, reply, hasToken }) => {
        const { id } = jobOf(params.id);
        reply.hijack();
        const lastEventId = textOf(request.headers['last-event-id']);
        events.send(reply.raw, { jobId: id, lastEventId, told: told(hasToken), stopping });
        return ANSWERED;
      },
    }),
    route({
      method: 'POST',
      path: '/api/jobs/:id/cancel',
      tag: TAG,
      summary: 'Ask a job to stop',
      says: 'It stops at its next safe point; what it did so far stays. A job that is over stays as it is.',
      params: ById,
      reply: { status: 200, schema: Job, says: 'The job as it is now.' },
      problems: [404, 409],
      needsToken: true,
      handle: async ({ params }) => {
        const { id } = jobOf(params.id);
        await jobs.cancel(id);
        return toldJob(jobOf(id));
      },
    }),
    route({
      method: 'POST',
      path: '/api/deletes/preview',
      tag: TAG,
      summary: 'What a deletion would take',
      body: closed({ selection: Selection }),
      reply: {
        status: 200,
        schema: PreviewedDelete,
        says: 'What would go.',
      },
      problems: [404],
      needsToken: true,
      handle: async ({ body: { selection }, signal }) => {
        refuseEverything(selection);
        await using seen = await archive.view();
        const token = await tickets.issue(selection, seen, signal);
        return { preview: await archive.previewDelete(selectionOf(archive, selection), { seen }), token };
      },
    }),
    route({
      method: 'POST',
      path: '/api/deletes',
      tag: TAG,
      summary: 'Delete what a preview showed',
      says: 'Refused when it is not exactly what the preview showed. `compact` then takes the bytes out of the segments.',
      body: closed({ selection: Selection, token: Type.String({ maxLength: 500 }) }),
      reply: accepted,
      problems: [404, 409, 429],
      needsToken: true,
      handle: async ({ body: { selection, token }, signal }) => {
        refuseEverything(selection);
        await tickets.check(token, selection, archive, signal);
        return begin(checkedJob('delete', { selection, token }), { selection, token });
      },
    }),
  ];
}

/**
 * Where a page of jobs ended. With the time, because a job may be forgotten by the time that somebody goes on behind
 * it.
 */
function placeOf({ createdAt, id }: Job): string {
  return `${createdAt}~${id}`;
}

/** Of jobs, the newest first: those behind a place. */
function behind(jobs: readonly Job[], place: string): readonly Job[] {
  const [createdAt = '', id] = place.split('~');
  const time = parseW3cDate(createdAt);
  if (time === undefined || id === undefined)
    throw badRequest('this is no place to go on from', 'Send the `next` of the page before.', 'query/after');
  const at = jobs.findIndex((job) => job.id === id);
  if (at >= 0) return jobs.slice(at + 1);
  return jobs.filter((job) => (parseW3cDate(job.createdAt) ?? 0) <= time);
}

function refuseEverything(selection: Selection): void {
  if (Object.keys(selection).length > 0) return;
  throw badRequest(
    'the selection is empty, which would mean everything',
    'Say which captures are meant.',
    'body/selection',
  );
}

function textOf(field: string | string[] | undefined): string | undefined {
  return typeof field === 'string' ? field : undefined;
}
