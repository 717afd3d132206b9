/**
 * State that the browser shares between all pages of the replay origin: caches, channels and locks. These functions
 * give each site at each time its own state, so that no capture shows or disturbs another.
 */
import { methodsOf, wrapGetter } from './property.ts';

type Scope = Window & typeof globalThis;

/** Makes all caches look empty. Caches outlast the page, and would answer requests in place of the archive. */
export function emptyCaches(scope: Scope): void {
  if (!scope.CacheStorage) return;
  const results = { match: undefined, matchAll: [], add: undefined, addAll: undefined, put: undefined };
  for (const [name, result] of Object.entries({ ...results, delete: false, keys: [] })) {
    methodsOf(scope.Cache.prototype)[name] = () => Promise.resolve(result);
  }
  const names = new Set<string>();
  const storage = scope.CacheStorage.prototype;
  const open = storage.open;
  storage.open = function (name) {
    names.add(String(name));
    return open.call(this, 'pinakes');
  };
  storage.has = (name) => Promise.resolve(names.has(String(name)));
  storage.delete = (name) => Promise.resolve(names.delete(String(name)));
  storage.keys = () => Promise.resolve(Array.from(names));
  storage.match = () => Promise.resolve(undefined);
}

/** Puts a prefix before the names of channels and locks. */
export function separateChannels(scope: Scope, prefix: string): void {
  const Channel = scope.BroadcastChannel;
  if (Channel) {
    wrapGetter(Channel, 'name', (name: string) => name.slice(prefix.length));
    scope.BroadcastChannel = new Proxy(Channel, {
      construct: (made, values, target) =>
        Reflect.construct(made, values.length > 0 ? [prefix + values[0]] : values, target),
    });
  }
  if (!scope.LockManager) return;
  const locks = methodsOf(scope.LockManager.prototype);
  const request = locks.request!;
  locks.request = function (this: LockManager, name, ...rest) {
    return request.call(this, prefix + name, ...rest);
  };
}
