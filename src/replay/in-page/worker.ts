/**
 * The script that prepares a worker before any script of its own runs. It runs after wombat's script for workers, and
 * patches what that script leaves out. A worker sees the URLs of the original, as a page does.
 */
import { importerOf } from './dynamic-import.ts';
import { wrapGetter } from './property.ts';
import { restoreResponseFields } from './response-fields.ts';
import { emptyCaches, separateChannels } from './shared-state.ts';
import { failingWebSocket } from './web-socket.ts';
import type { PageWindow } from './wombat.ts';

export type WorkerInfo = {
  readonly prefix: string;
  readonly prefixMod: string;
  readonly originalURL: string;
};

type WorkerWombat = { readonly prefixMod: string; rewriteURL(url: string): string };

declare const self: Window &
  typeof globalThis & {
    WBWombat: new (info: WorkerInfo) => WorkerWombat;
    ____wb_rewrite_import__?: PageWindow['____wb_rewrite_import__'];
  };
declare const WorkerLocation: { readonly prototype: object };

/** Replaces `WBWombat`, which prepares the worker when it is constructed. */
export function defineWorkerStart(originalFieldPrefix: string): void {
  const Wombat = self.WBWombat;
  const place = self.location;
  self.WBWombat = function WBWombat(info: WorkerInfo) {
    const Socket = self.WebSocket;
    const wombat = new Wombat(info);
    if (Socket) self.WebSocket = failingWebSocket(Socket);
    patchLocation(place, info);
    patchUrl(self.Response, 'url', info.prefix);
    patchUrl(self.Request, 'url', info.prefix);
    patchUrl(self.XMLHttpRequest, 'responseURL', info.prefix);
    separateState(place, info);
    patchInnerWorkers(wombat);
    restoreResponseFields(originalFieldPrefix);
    // Wombat drops the options of import().
    self.____wb_rewrite_import__ = importerOf((name, base) => wombat.rewriteURL(new URL(name, base).href));
    return wombat;
  } as unknown as typeof Wombat;
}

/** The original URL in a replay URL. Other URLs stay as they are. */
function originalOf(url: string, prefix: string): string {
  return url.startsWith(prefix) ? url.slice(prefix.length).replace(/^\d*[a-z]*_?\//, '') : url;
}

/** Wombat does not patch `location`, which is the URL in the archive. */
function patchLocation(place: Location, info: WorkerInfo): void {
  const owner = new URL(info.originalURL);
  const isBlob = place.protocol === 'blob:';
  const href = isBlob
    ? `blob:${owner.origin}${place.pathname.slice(place.origin.length)}`
    : originalOf(place.href, info.prefix);
  const parsed = new URL(href);
  const location: object = Object.create(WorkerLocation.prototype);
  for (const name of ['href', 'protocol', 'host', 'hostname', 'port', 'pathname', 'search', 'hash'] as const) {
    Object.defineProperty(location, name, { value: parsed[name], enumerable: true });
  }
  const origin = isBlob ? owner.origin : parsed.origin;
  Object.defineProperty(location, 'origin', { value: origin, enumerable: true });
  Object.defineProperty(location, 'toString', { value: () => href });
  Object.defineProperty(self, 'location', { get: () => location, enumerable: true, configurable: true });
  Object.defineProperty(self, 'origin', { value: origin, enumerable: true, configurable: true });
}

function patchUrl(owner: { readonly prototype: object } | undefined, name: string, prefix: string): void {
  wrapGetter(owner, name, (url: string) => originalOf(url, prefix));
}

/** Gives databases, channels and locks the same names as in the page, with the time and the site in them. */
function separateState(place: Location, info: WorkerInfo): void {
  const url = place.protocol === 'blob:' ? info.prefixMod : place.href;
  const stamp = /\/web\/(\d*)/.exec(url)![1]!;
  const prefix = `wb-${stamp}-${new URL(info.originalURL).origin}-`;
  separateChannels(self, prefix);
  emptyCaches(self);
  if (!self.IDBFactory) return;
  const factory = self.IDBFactory.prototype;
  const { open, deleteDatabase, databases } = factory;
  factory.open = function (name, version) {
    return open.call(this, prefix + name, version);
  };
  factory.deleteDatabase = function (name) {
    return deleteDatabase.call(this, prefix + name);
  };
  factory.databases = async function () {
    const own = (await databases.call(this)).filter(({ name }) => name!.startsWith(prefix));
    return own.map(({ name, version }) => ({ name: name!.slice(prefix.length), version: version! }));
  };
}

/** Wombat does not prepare the workers of a worker. */
function patchInnerWorkers(wombat: WorkerWombat): void {
  const Inner = self.Worker;
  if (!Inner) return;
  self.Worker = function Worker(url: unknown, options?: WorkerOptions) {
    const modifier = options?.type === 'module' ? 'wkrm_/' : 'wkr_/';
    const link = wombat.rewriteURL(String(url));
    return new Inner(link.startsWith(wombat.prefixMod) ? link.replace('wkrf_/', modifier) : link, options);
  } as unknown as typeof Worker;
  self.Worker.prototype = Inner.prototype;
}
