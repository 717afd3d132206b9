/** Routes for takedowns: a preview, a job, and the list of what is barred. */
import { Type } from 'typebox';
import { takedownKind } from '../jobs/maintenance-kinds.ts';
import { Count, closed, countOf, named, TakedownInput } from '../schema.ts';
import type { ApiServices } from './api-services.ts';
import { JobItem } from './job-item.ts';
import { startJob } from './job-routes.ts';
import { type ApiRoute, route } from './route.ts';

const TAG = 'jobs';

const Preview = named('TakedownPreview', {
  captures: countOf('Captures that would be deleted.'),
  contents: countOf('Contents that would be barred.'),
  urls: countOf('URLs that would be barred.'),
  examples: Type.Array(Type.String(), { description: 'URLs of some of the captures.' }),
});

const Barred = named('Takedowns', {
  contents: Type.Array(Type.String(), { description: 'SHA-256 of the contents, in hexadecimal.' }),
  urls: Type.Array(Type.String(), { description: 'The keys of the URLs.' }),
  captures: countOf('Captures of what is barred. There are none, unless a takedown was interrupted.'),
  unsealed: Type.Array(Type.String(), { description: 'Segments that may have the bytes and still grow.' }),
  uncompacted: Type.Array(Type.String(), { description: 'Segments that have the bytes until they are compacted.' }),
  isGone: Type.Boolean({ description: 'Whether no segment has bytes of what is barred.' }),
});

type Services = Pick<ApiServices, 'archive' | 'jobs' | 'uploads'>;

export function takedownRoutes({ archive, jobs, uploads }: Services): ApiRoute[] {
  return [
    route({
      method: 'GET',
      path: '/api/takedowns',
      tag: TAG,
      summary: 'What is barred, and where its bytes still are',
      reply: { status: 200, schema: Barred, description: 'All contents and URLs that are barred.' },
      needsToken: true,
      handle: async () => archive.takedowns(),
    }),
    route({
      method: 'POST',
      path: '/api/takedowns/preview',
      tag: TAG,
      summary: 'What a takedown would bar and delete',
      body: TakedownInput,
      reply: { status: 200, schema: Preview, description: 'What would be barred and deleted.' },
      needsToken: true,
      handle: async ({ body }) => archive.previewTakedown(body),
    }),
    route({
      method: 'POST',
      path: '/api/takedowns',
      tag: TAG,
      summary: 'Bar contents and URLs for good, and delete their captures',
      description:
        'Refused unless as many captures are deleted as the preview said. `compact` then removes the bytes from the segments.',
      body: closed({ ...TakedownInput.properties, captures: Count }),
      reply: { status: 202, schema: JobItem, description: 'The job, which waits or runs.' },
      problems: [409, 429],
      needsToken: true,
      handle: async ({ body }) => startJob(jobs, uploads, takedownKind, body),
    }),
  ];
}
