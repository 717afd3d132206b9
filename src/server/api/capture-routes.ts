/** Routes for URLs and their captures. */
import { type Static, Type } from 'typebox';
import { type Archive, releasePayload } from '../../archive/index.ts';
import { formatTimestamp, formatW3cDate, PinakesError } from '../../base/index.ts';
import type { Capture } from '../../catalog/index.ts';
import { shownAround } from '../../replay/index.ts';
import { typedUrl, urlKey } from '../../url/index.ts';
import type { Field } from '../../warc/index.ts';
import { Count, closed, limitOf, named, PageCursor, TimeInput, Timestamp, UrlInput, W3cDate } from '../schema.ts';
import { parseTimeInput } from '../selection-input.ts';
import { Calendar, calendarOf } from './calendar.ts';
import { CAPTURE_PROPERTIES, CaptureItem, captureItems } from './capture-item.ts';
import { listCaptures, previousOf } from './capture-list.ts';
import { sourceOf, textOf } from './capture-text.ts';
import type { RecentAnswers } from './recent-answers.ts';
import { type ApiRoute, route } from './route.ts';
import { listUrls, UrlItem } from './url-list.ts';

const TAG = 'captures';
const TEXT_LIMIT = 1024 * 1024;
const TEXT_LIMIT_MAX = 8 * 1024 * 1024;

const Fields = Type.Array(Type.Array(Type.String(), { minItems: 2, maxItems: 2 }), {
  description: 'Names and values, in the order and spelling of the record.',
});

const Place = closed({ volume: Type.String(), segment: Type.String(), offset: Count, length: Count });

const CaptureDetail = named('CaptureDetail', {
  ...CAPTURE_PROPERTIES,
  recordId: Type.Optional(Type.String()),
  place: Place,
  warcFields: Fields,
  httpStatusLine: Type.Optional(Type.String()),
  httpFields: Type.Optional(Fields),
  holder: Type.Optional(
    closed(
      { ...Place.properties, references: Count },
      'The record with the content, and how many captures refer to it.',
    ),
  ),
});

const ShownCapture = named('ShownCapture', { url: Type.String(), time: W3cDate, timestamp: Timestamp });

const Neighbours = named('Neighbours', {
  current: Type.Optional(ShownCapture),
  previous: Type.Optional(ShownCapture),
  next: Type.Optional(ShownCapture),
});

const CaptureText = named('CaptureText', {
  text: Type.String(),
  truncated: Type.Boolean({ description: 'The text continues beyond the limit.' }),
  charset: Type.String({ description: 'The detected charset of the content.' }),
});

const ById = closed({ id: Type.String({ minLength: 1, maxLength: 8192 }) });
const UpTo = closed({ limit: limitOf(TEXT_LIMIT_MAX, TEXT_LIMIT) });

function pageOf<T extends typeof CaptureItem | typeof UrlItem>(item: T) {
  return closed({ items: Type.Array(item), next: Type.Optional(Type.String({ description: 'Send as `after`.' })) });
}

export function captureRoutes(archive: Archive, calendars: RecentAnswers<Calendar>): ApiRoute[] {
  return [
    route({
      method: 'GET',
      right: 'read',
      path: '/api/urls',
      tag: TAG,
      summary: 'URLs in order of their keys',
      description: 'A page may be shorter than the limit and still have a `next`.',
      query: closed({
        prefix: Type.Optional(
          Type.String({
            minLength: 1,
            maxLength: 65_536,
            description: 'URLs that begin with this text; *.example.org for a domain.',
          }),
        ),
        after: Type.Optional(PageCursor),
        limit: limitOf(1000, 100),
      }),
      reply: { status: 200, schema: pageOf(UrlItem), description: 'A page of URLs.' },
      handle: async ({ query, signal }) => listUrls(archive, { ...query, limit: query.limit ?? 100 }, signal),
    }),
    route({
      method: 'GET',
      right: 'read',
      path: '/api/captures',
      tag: TAG,
      summary: 'Captures of a URL in order of time',
      description: 'A page may be shorter than the limit and still have a `next`.',
      query: closed({
        url: UrlInput,
        from: Type.Optional(TimeInput),
        to: Type.Optional(TimeInput),
        after: Type.Optional(PageCursor),
        limit: limitOf(1000, 100),
        order: Type.Optional(Type.Enum(['asc', 'desc'])),
      }),
      reply: {
        status: 200,
        schema: pageOf(CaptureItem),
        description: 'A page of captures; empty when the URL has none.',
      },
      handle: async ({ query }) => {
        const { url, from, to, after, limit = 100, order } = query;
        const { list, next } = await listCaptures(archive, {
          url,
          from: from === undefined ? undefined : parseTimeInput(from, 'start'),
          to: to === undefined ? undefined : parseTimeInput(to, 'end'),
          after,
          limit,
          isReverse: order === 'desc',
        });
        return { items: await captureItems(archive, list), ...(next !== undefined && { next }) };
      },
    }),
    route({
      method: 'GET',
      right: 'read',
      path: '/api/neighbours',
      tag: TAG,
      summary: 'The capture that replay shows for a URL and a time, and its neighbours',
      description:
        'Captures that replay replaces by another one are left out, for example redirections of a URL to itself.',
      query: closed({ url: UrlInput, time: TimeInput }),
      reply: { status: 200, schema: Neighbours, description: 'Without `current` when replay has nothing to show.' },
      handle: async ({ query }) => {
        const found = await shownAround(archive, typedUrl(query.url), parseTimeInput(query.time, 'start'));
        if (!found) return {};
        const { previous, next } = found.neighbours;
        return {
          current: shownCapture(found.current),
          ...(previous && { previous: shownCapture(previous) }),
          ...(next && { next: shownCapture(next) }),
        };
      },
    }),
    route({
      method: 'GET',
      right: 'read',
      path: '/api/calendar',
      tag: TAG,
      summary: 'Captures of a URL by day',
      query: closed({ url: UrlInput }),
      reply: { status: 200, schema: Calendar, description: 'Days with captures, by year.' },
      handle: async ({ query, signal }) => {
        const url = typedUrl(query.url);
        const calendar = await calendars.get(urlKey(url), () => calendarOf(archive, url, signal));
        return calendar.captures === 0 ? { ...calendar, url: query.url } : calendar;
      },
    }),
    route({
      method: 'GET',
      right: 'read',
      path: '/api/captures/:id',
      tag: TAG,
      summary: 'One capture with its WARC and HTTP fields',
      params: ById,
      reply: { status: 200, schema: CaptureDetail, description: 'The capture.' },
      problems: [404],
      handle: async ({ params }) => captureDetail(archive, await captureOf(archive, params.id)),
    }),
    route({
      method: 'GET',
      right: 'read',
      path: '/api/captures/:id/text',
      tag: TAG,
      summary: 'The visible text of a capture, one line for each block',
      params: ById,
      query: UpTo,
      reply: { status: 200, schema: CaptureText, description: 'The text, up to `limit` characters.' },
      problems: [404, 422],
      handle: async ({ params, query }) =>
        textOf(archive, await captureOf(archive, params.id), query.limit ?? TEXT_LIMIT),
    }),
    route({
      method: 'GET',
      right: 'read',
      path: '/api/captures/:id/source',
      tag: TAG,
      summary: 'The content of a capture, decoded to text',
      params: ById,
      query: UpTo,
      reply: { status: 200, schema: CaptureText, description: 'The source, up to `limit` bytes.' },
      problems: [404],
      handle: async ({ params, query }) =>
        sourceOf(archive, await captureOf(archive, params.id), query.limit ?? TEXT_LIMIT),
    }),
  ];
}

function shownCapture({ url, time }: Capture): Static<typeof ShownCapture> {
  return { url, time: formatW3cDate(time), timestamp: formatTimestamp(time) };
}

async function captureOf(archive: Archive, id: string): Promise<Capture> {
  const capture = await archive.captureById(id);
  if (capture) return capture;
  throw new PinakesError('CONTENT_MISSING', { where: `capture ${id.slice(0, 200)}` });
}

async function captureDetail(archive: Archive, wanted: Capture): Promise<object> {
  const { capture, head, http, payload } = await archive.open(wanted);
  await releasePayload(payload);
  const [item] = await captureItems(archive, [{ capture, previous: await previousOf(archive, capture) }]);
  const [block] = capture.block ? await archive.getBlocks([capture.block]) : [];
  await using view = await archive.view({ isLong: true });
  const [references] = block ? await view.countReferences([block.key]) : [];
  return {
    ...item!,
    ...(head.recordId !== undefined && { recordId: head.recordId }),
    place: await placeOf(archive, capture.place),
    warcFields: head.fields.map(pairOf),
    ...(http && { httpStatusLine: http.startLine, httpFields: http.fields.map(pairOf) }),
    ...(block && { holder: { ...(await placeOf(archive, block.holder)), references } }),
  };
}

function pairOf({ name, value }: Field): [string, string] {
  return [name, value];
}

async function placeOf(archive: Archive, place: Capture['place']): Promise<object> {
  const [found] = await archive.records.locate([place]);
  if (!found) throw new PinakesError('CONTENT_MISSING', { where: `segment ${place.segment}` });
  const { volume, segment, offset, length } = found;
  return { volume, segment, offset, length };
}
