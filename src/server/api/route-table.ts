/** All routes of the API. */

import { Type } from 'typebox';
import type { ApiTools } from './api-tools.ts';
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
