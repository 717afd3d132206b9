/** Patches workers that scripts make from a blob. */
import { blobUrl, readBlob } from './blob.ts';
import { withModuleLinks } from './module-patches.ts';
import type { Wombat } from './wombat.ts';

/** Wombat does not prepare workers that are modules. It starts other workers without the time of the page. */
export function patchWorkers(methods: Wombat): void {
  const rewriteWorker = methods.rewriteWorker;
  methods.rewriteWorker = function (this: Wombat, url, options) {
    if (!/^blob:/i.test(url)) return rewriteWorker.call(this, url, options);
    const { prefix, wombat_ts, static_prefix, url: originalURL } = this.wb_info;
    const info = JSON.stringify({ prefix, prefixMod: `${prefix}${wombat_ts}wkrf_/`, originalURL });
    const start = `new self.WBWombat(${info});`;
    const script = JSON.stringify(`${static_prefix}wombatWorkers.js`);
    const code = readBlob(this, url)
      .responseText.replace(this.workerBlobRe, '')
      .replace(this.rmCheckThisInjectRe, 'this');
    if (options?.type !== 'module')
      return blobUrl(this, `self.importScripts(${script});${start}${code}`, 'text/javascript');
    // Imports run in this order, before anything else.
    const imports = `import ${script};import "data:text/javascript,${encodeURIComponent(start)}";`;
    const linked = withModuleLinks(this, code, 'wkrf_').replace(
      /(^|[^\w$.])import\s*\(/g,
      '$1____wb_rewrite_import__(undefined,',
    );
    return blobUrl(this, imports + linked, 'text/javascript');
  };
}
