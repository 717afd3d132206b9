/** Memento (RFC 7089): the URIs of the TimeGate, TimeMap and mementos of a resource, and the fields that name them. */
import type { EpochMs } from '../base/index.ts';
import { REPLAY_ROOT, replayPath } from './replay-path.ts';

/** The two origins of a served archive. */
export type ReplayOrigins = {
  /** Origin of the web interface, of TimeGates and of TimeMaps: `http://localhost:8080`. */
  readonly uiOrigin: string;
  /** Origin of archived pages and all their parts: `http://localhost:8081`. */
  readonly replayOrigin: string;
};

/** The parts of a capture that a link names. */
export type Memento = { readonly url: string; readonly time: EpochMs };

/** The first, previous, next and last capture of a resource, seen from one of them. */
export type MementoNeighbours = {
  readonly first?: Memento | undefined;
  readonly previous?: Memento | undefined;
  readonly next?: Memento | undefined;
  readonly last?: Memento | undefined;
};

/** A time as HTTP writes it: `Fri, 01 Mar 2024 10:00:00 GMT`. */
export function httpDate(time: EpochMs): string {
  return new Date(time).toUTCString();
}

/**
 * A URI that can be put between `<` and `>` in a field. Characters that are not printable ASCII, and those that would
 * end it, are escaped.
 */
export function linkTarget(url: string): string {
  if (!/[^\x21-\x7e]|[<>"]/.test(url)) return url;
  return url.toWellFormed().replace(/[^\x21-\x7e]+|[<>"]/gu, (found) => encodeURIComponent(found));
}

/** URI-M: the memento itself. */
export function mementoUri({ replayOrigin }: ReplayOrigins, { url, time }: Memento): string {
  return replayOrigin + replayPath(linkTarget(url), time, 'mp_');
}

/** URI-G: the TimeGate. */
export function timeGateUri({ uiOrigin }: ReplayOrigins, url: string): string {
  return uiOrigin + REPLAY_ROOT + linkTarget(url);
}

/** URI-T: the TimeMap. */
export function timeMapUri({ uiOrigin }: ReplayOrigins, url: string, format = 'link'): string {
  return `${uiOrigin}${REPLAY_ROOT}timemap/${format}/${linkTarget(url)}`;
}

/** One memento of a Link field or of a TimeMap: `<uri>; rel="first memento"; datetime="..."`. */
export function mementoLink(origins: ReplayOrigins, memento: Memento, relation: string): string {
  return linkOf(mementoUri(origins, memento), memento, relation);
}

/** Like `mementoLink`, for any URI. */
export function linkOf(uri: string, { time }: Pick<Memento, 'time'>, relation: string): string {
  return `<${uri}>; rel="${relation}"; datetime="${httpDate(time)}"`;
}

/** The links in every answer for a resource: to the resource itself, its TimeGate and its TimeMap. */
export function resourceLinks(origins: ReplayOrigins, url: string): string[] {
  return [
    `<${linkTarget(url)}>; rel="original"`,
    `<${timeGateUri(origins, url)}>; rel="timegate"`,
    `<${timeMapUri(origins, url)}>; rel="timemap"; type="application/link-format"`,
  ];
}

/** The Link value of a memento. Neighbours that are the same capture share one link, `rel="first last memento"`. */
export function mementoLinks(origins: ReplayOrigins, self: Memento, neighbours: MementoNeighbours = {}): string {
  const { first, previous, next, last } = neighbours;
  if (!first && !previous && !next && !last) {
    return [...resourceLinks(origins, self.url), mementoLink(origins, self, 'memento')].join(', ');
  }
  const relations = new Map<string, { memento: Memento; names: string[] }>();
  const add = (memento: Memento | undefined, name?: string) => {
    if (!memento) return;
    const uri = mementoUri(origins, memento);
    const known = relations.get(uri) ?? { memento, names: [] };
    if (name) known.names.push(name);
    relations.set(uri, known);
  };
  add(first, 'first');
  add(previous, 'prev');
  add(self);
  add(next, 'next');
  add(last, 'last');
  const mementos = Array.from(relations, ([uri, { memento, names }]) =>
    linkOf(uri, memento, [...names, 'memento'].join(' ')),
  );
  return [...resourceLinks(origins, self.url), ...mementos].join(', ');
}
