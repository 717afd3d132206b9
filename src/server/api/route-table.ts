/** All routes of the API. */

import { Type } from 'typebox';
import type { Archive } from '../../archive/index.ts';
import { type ApiTools, openApiTools } from './api-tools.ts';
import { archiveRoutes } from './archive-routes.ts';
import { captureRoutes } from './capture-routes.ts';
import { jobRoutes } from './job-routes.ts';
import { openApiDocument } from './openapi.ts';
import { type ApiRoute, route } from './route.ts';
import { searchRoutes } from './search-routes.ts';
import { segmentRoutes } from './segment-routes.ts';
import { streamRoutes } from './stream-routes.ts';
import { transferRoutes } from './transfer-routes.ts';

export function apiRoutes(tools: ApiTools): ApiRoute[] {
  const routes: ApiRoute[] = [
    ...archiveRoutes(tools),
    ...captureRoutes(tools),
    ...searchRoutes(tools),
    ...segmentRoutes(tools),
    ...jobRoutes(tools),
    ...streamRoutes(tools),
    ...transferRoutes(tools),
    route({
      method: 'GET',
      path: '/api/openapi.json',
      tag: 'archive',
      summary: 'This description',
      reply: { status: 200, schema: Type.Object({}), says: 'An OpenAPI 3.1 document.' },
      handle: async () => openApiDocument(routes, tools.parts.version),
    }),
  ];
  return routes;
}

/** The OpenAPI document without a server. The archive is one made for this, as a server's files are put in it. */
export async function apiDocument(archive: Archive, version: string): Promise<object> {
  const tools = await openApiTools({
    archive,
    version,
    clock: archive.clock,
    newId: archive.newId,
    token: '',
    program: 'pinakes',
    uiOrigin: '',
    originsFor: () => ({ uiOrigin: '', replayOrigin: '' }),
    jobKinds: [],
    runCommand: undefined,
    isCommand: () => false,
  });
  try {
    return openApiDocument(apiRoutes(tools), version);
  } finally {
    await tools.stop(AbortSignal.abort());
  }
}
