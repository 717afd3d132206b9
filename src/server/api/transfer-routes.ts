/** Routes that move whole files and commands: uploads, exports, and the command line's own way in. */
import { Type } from 'typebox';
import { FRAMES_MIME } from '../../base/index.ts';
import { download } from '../http/download.ts';
import { HttpProblem, NOT_FOUND } from '../http/problem.ts';
import { isInterrupted, isOver, Job, toldJob } from '../jobs/job.ts';
import { closed, NewCollection } from '../shape.ts';
import { type ApiTools, uploadOf } from './api-tools.ts';
import { ANSWERED, type ApiRoute, route } from './route.ts';

export function transferRoutes({ parts, kinds, jobs, uploads, exports, commands }: ApiTools): ApiRoute[] {
  const add = kinds.find(({ name }) => name === 'add')!;
  return [
    route({
      method: 'POST',
      path: '/api/uploads',
      tag: 'transfers',
      summary: 'Send a WARC, ARC or WACZ file to be added',
      query: closed({
        name: Type.String({ minLength: 1, maxLength: 1000, description: 'What the file is called.' }),
        collection: Type.Optional(NewCollection),
      }),
      rawBody: { mime: 'application/octet-stream', says: 'The bytes of the file.' },
      reply: { status: 202, schema: Job, says: 'The job that adds it.' },
      problems: [413, 422, 429, 507],
      needsToken: true,
      handle: async ({ query, request, signal }) => {
        const length = Number(request.headers['content-length'] ?? Number.NaN);
        const bytes = Number.isSafeInteger(length) ? length : undefined;
        const { name: upload } = await uploads.take(query.name, request.raw, bytes, signal);
        const input = { upload, ...(query.collection !== undefined && { collection: query.collection }) };
        try {
          const { job } = await jobs.submit({
            kind: 'add',
            origin: 'api',
            input,
            lane: add.lane ?? 'write',
            run: (context) => add.run(context),
            onOver: async (job) => {
              if (!isInterrupted(job)) await uploads.remove(upload);
            },
          });
          return toldJob(job);
        } catch (error) {
          await uploads.remove(upload);
          throw error;
        }
      },
    }),
    route({
      method: 'DELETE',
      path: '/api/uploads/:jobId',
      tag: 'transfers',
      summary: 'Remove the file of an upload that was interrupted before it was added',
      params: closed({ jobId: Type.String({ maxLength: 100 }) }),
      reply: { status: 200, schema: closed({ removed: Type.Boolean() }), says: 'It is gone.' },
      problems: [404, 409],
      needsToken: true,
      handle: async ({ params }) => {
        const upload = uploadOf(jobs.get(params.jobId)?.input);
        if (!uploads.has(upload)) throw new HttpProblem(NO_UPLOAD);
        // It may be run again by now.
        if (jobs.list().some((job) => !isOver(job) && uploadOf(job.input) === upload))
          throw new HttpProblem(UPLOAD_RUNS);
        await uploads.remove(upload);
        return { removed: true };
      },
    }),
    route({
      method: 'GET',
      path: '/api/exports/:jobId/:file',
      tag: 'transfers',
      summary: 'A file that an export made',
      params: closed({ jobId: Type.String({ maxLength: 100 }), file: Type.String({ maxLength: 300 }) }),
      reply: { status: 200, mime: 'application/octet-stream', says: 'The file, or with status 206 a range of it.' },
      problems: [404, 416],
      handle: async ({ params, request, reply }) => {
        const job = jobs.get(params.jobId);
        const file = job && (await exports.find(job, params.file));
        if (!file) throw new HttpProblem(NO_EXPORT);
        return download(request, reply, file);
      },
    }),
    route({
      method: 'DELETE',
      path: '/api/exports/:jobId',
      tag: 'transfers',
      summary: 'Remove the file that an export made',
      params: closed({ jobId: Type.String({ maxLength: 100 }) }),
      reply: { status: 200, schema: closed({ removed: Type.Boolean() }), says: 'It is gone.' },
      problems: [404, 409],
      needsToken: true,
      handle: async ({ params }) => {
        const job = jobs.get(params.jobId);
        if (job && !isOver(job)) throw new HttpProblem(EXPORT_RUNS);
        if (!(await exports.remove(params.jobId))) throw new HttpProblem(NO_EXPORT);
        return { removed: true };
      },
    }),
    route({
      method: 'POST',
      path: '/api/commands',
      tag: 'transfers',
      summary: 'Run a command of the command line in the server',
      says: 'How `pinakes` works on an archive that is being served. Taken only over the command socket that `owner.json` names, never over TCP; docs/api.md describes the frames.',
      rawBody: { mime: FRAMES_MIME, says: 'Frames: the command, then answers, standard input, an interruption.' },
      reply: { status: 200, mime: FRAMES_MIME, says: 'Frames: output, questions, the exit code.' },
      problems: [403, 429],
      needsToken: true,
      handle: async ({ request, reply }) => {
        if (!commands) throw new HttpProblem(NOT_FOUND);
        if (!parts.isCommand(request.raw)) throw new HttpProblem(NOT_COMMAND_SOCKET);
        await commands.serve(request.raw, reply.raw, () => void reply.hijack());
        return ANSWERED;
      },
    }),
  ];
}

const NO_UPLOAD = {
  status: 404,
  code: 'UPLOAD_MISSING',
  message: 'there is no such file',
  advice: 'The file of an upload is kept only while its job is not over, or was interrupted.',
};

const UPLOAD_RUNS = {
  status: 409,
  code: 'UPLOAD_RUNS',
  message: 'this file is being added, or waits to be',
  advice: 'Wait for the end of its job, or cancel the job, which removes the file.',
};

const NO_EXPORT = {
  status: 404,
  code: 'EXPORT_MISSING',
  message: 'there is no such file',
  advice: 'The report of an export job names its file; it may have been removed.',
};

const EXPORT_RUNS = {
  status: 409,
  code: 'EXPORT_RUNS',
  message: 'this export is not over yet',
  advice: 'Wait for the end of its job, or cancel the job.',
};

const NOT_COMMAND_SOCKET = {
  status: 403,
  code: 'COMMAND_SOCKET_ONLY',
  message: 'commands are taken only over the command socket of the server',
  advice: 'Run the command on the machine of the server, or begin a job with POST /api/jobs.',
};
