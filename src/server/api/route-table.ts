/** All routes of the API. */
import { Type } from 'typebox';
import type { Archive } from '../../archive/index.ts';
import { type ApiServices, openApiServices } from './api-services.ts';
import { archiveRoutes, type ServerFacts } from './archive-routes.ts';
import { auditRoutes } from './audit-routes.ts';
import { captureRoutes } from './capture-routes.ts';
import { contentsRoutes } from './contents-routes.ts';
import { jobRoutes } from './job-routes.ts';
import { nodeRoutes } from './node-routes.ts';
import { openApiDocument } from './openapi.ts';
import { type ApiRoute, route } from './route.ts';
import { searchRoutes } from './search-routes.ts';
import { segmentRoutes } from './segment-routes.ts';
import { sessionRoutes } from './session-routes.ts';
import { streamRoutes } from './stream-routes.ts';
import { takedownRoutes } from './takedown-routes.ts';
import { type CommandSource, transferRoutes } from './transfer-routes.ts';

export function apiRoutes(services: ApiServices, facts: ServerFacts, isCommand: CommandSource): ApiRoute[] {
  const { archive, calendars, search, indexing, stopping } = services;
  const routes: ApiRoute[] = [
    ...archiveRoutes(services, facts),
    ...captureRoutes(archive, calendars),
    ...searchRoutes(search, indexing),
    ...segmentRoutes(archive),
    ...nodeRoutes(archive),
    ...jobRoutes(services),
    ...takedownRoutes(services),
    ...streamRoutes(archive, search, stopping),
    ...transferRoutes(services, isCommand),
    ...contentsRoutes(services),
    ...sessionRoutes(services, facts),
    ...auditRoutes(services),
    route({
      method: 'GET',
      right: 'open',
      path: '/api/openapi.json',
      tag: 'archive',
      summary: 'This description',
      reply: { status: 200, schema: Type.Object({}), description: 'An OpenAPI 3.1 document.' },
      handle: async () => openApiDocument(routes, facts.version),
    }),
  ];
  return routes;
}

/** The OpenAPI document without a server. Use a new archive: the files of a server are created in it. */
export async function apiDocument(archive: Archive, version: string): Promise<object> {
  const { clock, newId } = archive;
  const services = await openApiServices({ archive, version, clock, newId, token: '', jobKinds: [] }, '');
  try {
    const facts = { version, program: 'pinakes', isPrivate: false, signIn: undefined, replayOriginFor: () => '' };
    return openApiDocument(
      apiRoutes(services, facts, () => false),
      version,
    );
  } finally {
    await services.stop(AbortSignal.abort());
  }
}
