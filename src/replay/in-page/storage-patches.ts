/** Patches storages, databases and caches. */
import { emptyCaches, separateChannels } from './shared-state.ts';
import type { Wombat } from './wombat.ts';

export function patchStorage(methods: Wombat): void {
  patchLocalStorage(methods);
  patchDatabases(methods);
  patchCaches(methods);
}

/**
 * Wombat stores values of any type. A storage of the browser turns them into text, and pages compare with 'true' or
 * '1'.
 */
function patchLocalStorage(methods: Wombat): void {
  // All windows share wombat's class of storages, so it is patched once.
  let isPatched = false;
  const prepare = methods.initStorageOverride;
  methods.initStorageOverride = function (this: Wombat) {
    prepare.call(this);
    if (isPatched) return;
    isPatched = true;
    const storage = this.$wbwindow.Storage.prototype;
    const set = storage.setItem;
    storage.setItem = function setItem(name, value) {
      return set.call(this, name, String(value));
    };
  };
}

/**
 * Databases outlast the page. Wombat separates them by site. This patch also separates them by time, because one
 * capture would otherwise show data that a later capture stored. Wombat's `deleteDatabase` deletes nothing.
 */
function patchDatabases(methods: Wombat): void {
  const prepare = methods.initIndexedDBOverride;
  methods.initIndexedDBOverride = function (this: Wombat) {
    const win = this.$wbwindow;
    if (!win.IDBFactory) return;
    const origin = this.wb_orig_origin;
    const factory = win.IDBFactory.prototype;
    const remove = factory.deleteDatabase;
    const { timestamp } = (win.__WB_replay_top || win).wbinfo || this.wb_info;
    const owner = `${timestamp}-${origin}`;
    // Wombat makes the prefix of database names from this.
    this.wb_orig_origin = owner;
    prepare.call(this);
    this.wb_orig_origin = origin;
    factory.deleteDatabase = function deleteDatabase(name) {
      return remove.call(this, `wb-${owner}-${name}`);
    };
    separateChannels(win, `wb-${owner}-`);
  };
}

/** Wombat lets pages open caches, where they would find replies of the archive. */
function patchCaches(methods: Wombat): void {
  const prepare = methods.initCacheStorageOverride;
  methods.initCacheStorageOverride = function (this: Wombat) {
    prepare.call(this);
    emptyCaches(this.$wbwindow);
  };
  methods.initCachesOverride = () => {};
}
