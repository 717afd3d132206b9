/** Routes for uploads, exports, and commands of the command line. */
import type { IncomingMessage } from 'node:http';
import { Type } from 'typebox';
import { FRAMES_MIME } from '../../base/index.ts';
import { isOver } from '../../jobs/index.ts';
import { download } from '../http/download.ts';
import { HttpProblem, NOT_FOUND } from '../http/problem.ts';
import { uploadOf } from '../jobs/add-kind.ts';
import { exportOf } from '../jobs/export-store.ts';
import { closed, NewCollection } from '../schema.ts';
import type { ApiServices } from './api-services.ts';
import { JobItem } from './job-item.ts';
import { startJob } from './job-routes.ts';
import { ANSWERED, type ApiRoute, route } from './route.ts';

/** True for a request that arrived over the command socket. */
export type CommandSource = (request: IncomingMessage) => boolean;

type Services = Pick<ApiServices, 'auditor' | 'kinds' | 'jobs' | 'files' | 'commands'>;

export function transferRoutes(services: Services, isCommand: CommandSource): ApiRoute[] {
  const { kinds, jobs, files, commands } = services;
  const { queue } = jobs;
  const { uploads, exports } = files;
  const add = kinds.find(({ name }) => name === 'add')!;
  return [
    route({
      method: 'POST',
      right: 'add',
      audit: 'add',
      path: '/api/uploads',
      tag: 'transfers',
      summary: 'Upload a WARC, ARC or WACZ file and add it',
      query: closed({
        name: Type.String({ minLength: 1, maxLength: 1000, description: 'The name of the file.' }),
        collection: Type.Optional(NewCollection),
      }),
      rawBody: { mime: 'application/octet-stream', description: 'The bytes of the file.' },
      reply: { status: 202, schema: JobItem, description: 'The job that adds the file.' },
      problems: [413, 422, 429, 507],
      handle: async ({ query, request, access, signal }) => {
        const length = Number(request.headers['content-length'] ?? Number.NaN);
        const bytes = Number.isSafeInteger(length) ? length : undefined;
        const { name: upload } = await uploads.receive(query.name, request.raw, bytes, signal);
        const input = { upload, ...(query.collection !== undefined && { collection: query.collection }) };
        try {
          return await startJob(services, access, add, input);
        } catch (error) {
          await uploads.remove(upload);
          throw error;
        }
      },
    }),
    route({
      method: 'DELETE',
      right: 'add',
      audit: 'cancel',
      path: '/api/uploads/:jobId',
      tag: 'transfers',
      summary: 'Remove an uploaded file whose job was interrupted',
      params: closed({ jobId: Type.String({ maxLength: 100 }) }),
      reply: { status: 200, schema: closed({ removed: Type.Boolean() }), description: 'The file was removed.' },
      problems: [404, 409],
      handle: async ({ params }) => {
        const own = await queue.get(params.jobId);
        const upload = uploadOf(own?.input);
        if (!uploads.has(upload)) {
          if (own && upload !== '') files.requireHere(own);
          throw new HttpProblem(NO_UPLOAD);
        }
        // The job may have been run again meanwhile.
        if ((await queue.list()).some((job) => !isOver(job) && uploadOf(job.input) === upload))
          throw new HttpProblem(UPLOAD_RUNS);
        await files.removeUpload(upload);
        return { removed: true };
      },
    }),
    route({
      method: 'GET',
      right: 'read',
      audit: 'export',
      path: '/api/exports/:jobId/:file',
      tag: 'transfers',
      summary: 'The file of an export',
      params: closed({ jobId: Type.String({ maxLength: 100 }), file: Type.String({ maxLength: 300 }) }),
      reply: {
        status: 200,
        mime: 'application/octet-stream',
        description: 'The file, or a range of it with status 206.',
      },
      problems: [404, 409, 416],
      handle: async ({ params, request, reply }) => {
        const job = await queue.get(params.jobId);
        const file = job && (await exports.find(job, params.file));
        if (!file && job && exportOf(job, params.file) !== undefined) files.requireHere(job);
        if (!file) throw new HttpProblem(NO_EXPORT);
        return download(request, reply, file);
      },
    }),
    route({
      method: 'DELETE',
      right: 'admin',
      audit: 'export',
      path: '/api/exports/:jobId',
      tag: 'transfers',
      summary: 'Remove the file of an export',
      params: closed({ jobId: Type.String({ maxLength: 100 }) }),
      reply: { status: 200, schema: closed({ removed: Type.Boolean() }), description: 'The file was removed.' },
      problems: [404, 409],
      handle: async ({ params }) => {
        const job = await queue.get(params.jobId);
        if (job && !isOver(job)) throw new HttpProblem(EXPORT_RUNS);
        if (await files.removeExport(params.jobId)) return { removed: true };
        if (job && exportOf(job) !== undefined) files.requireHere(job);
        throw new HttpProblem(NO_EXPORT);
      },
    }),
    route({
      method: 'POST',
      right: 'admin',
      audit: 'none',
      path: '/api/commands',
      tag: 'transfers',
      summary: 'Run a command of the command line in the server',
      description:
        'The command line uses this while a server has the archive open. Accepted only over the command socket that `owner.json` names, never over TCP. docs/api.md describes the frames.',
      rawBody: { mime: FRAMES_MIME, description: 'Frames: the command, then answers, standard input, interruption.' },
      reply: { status: 200, mime: FRAMES_MIME, description: 'Frames: output, questions, the exit code.' },
      problems: [403, 429],
      handle: async ({ request, reply }) => {
        if (!commands) throw new HttpProblem(NOT_FOUND);
        if (!isCommand(request.raw)) throw new HttpProblem(NOT_COMMAND_SOCKET);
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
  advice: 'An uploaded file is kept until its job ends, or when the job was interrupted.',
};

const UPLOAD_RUNS = {
  status: 409,
  code: 'UPLOAD_RUNS',
  message: 'a job that adds this file is waiting or running',
  advice: 'Wait until the job ends, or cancel the job, which removes the file.',
};

const NO_EXPORT = {
  status: 404,
  code: 'EXPORT_MISSING',
  message: 'there is no such file',
  advice: 'The report of an export job names its file. The file may have been removed.',
};

const EXPORT_RUNS = {
  status: 409,
  code: 'EXPORT_RUNS',
  message: 'this export has not ended yet',
  advice: 'Wait until its job ends, or cancel the job.',
};

const NOT_COMMAND_SOCKET = {
  status: 403,
  code: 'COMMAND_SOCKET_ONLY',
  message: 'commands are accepted only over the command socket of the server',
  advice: 'Run the command on the machine of the server, or start a job with POST /api/jobs.',
};
