/** Patches modules that scripts make from text, and `import()`. */
import { importerOf } from './dynamic-import.ts';
import type { Wombat } from './wombat.ts';

const ASSIGN = '_____WB$wombat$assign$function_____';

export function patchModules(methods: Wombat, standIns: readonly string[]): void {
  // Modules read the window as `globalThis` to declare the other stand-ins.
  const names = standIns.filter((name) => name !== 'globalThis');
  // Wombat puts a block around modules, which breaks their imports, and around scripts that contain data.
  const rewriteScript = methods.rewriteScript;
  methods.rewriteScript = function (this: Wombat, script) {
    if (script.hasAttribute('src') || !isModuleOrData(script)) return rewriteScript.call(this, script);
    const text = script.textContent ?? '';
    const rewritten = moduleText(this, script, text, names);
    if (rewritten === text) return false;
    script.textContent = rewritten;
    return true;
  };
  const assign = methods.rewriteHTMLAssign;
  methods.rewriteHTMLAssign = function (this: Wombat, element, setter, value) {
    if (!isScript(element) || !isModuleOrData(element)) return assign.call(this, element, setter, value);
    setter.call(element, moduleText(this, element, String(value), names));
  };
  // Wombat drops the options of import(): { with: { type: 'json' } }.
  methods.initImportWrapperFunc = function (this: Wombat, win) {
    win.____wb_rewrite_import__ = importerOf((name, base) =>
      this.rewriteUrl(new this.URL(name, base).href, false, 'esm_'),
    );
  };
}

/** Replaces the URLs that a module imports by links of the archive. */
export function withModuleLinks(wombat: Wombat, code: string, modifier: string): string {
  return code.replace(
    /(\bfrom\s*|\bimport\s*)(["'])((?:https?:|\.{0,2}\/)[^"'\s]*)\2/g,
    (_all, before: string, quote: string, url: string) => {
      const absolute = new wombat.URL(url, document.baseURI).href;
      return before + quote + wombat.rewriteUrl(absolute, false, modifier) + quote;
    },
  );
}

function isScript(element: Element): element is HTMLScriptElement {
  return element.tagName === 'SCRIPT';
}

function isModuleOrData(script: HTMLScriptElement): boolean {
  return /^\s*(?:module|importmap|speculationrules)\s*$/i.test(script.type);
}

function moduleText(wombat: Wombat, script: HTMLScriptElement, text: string, standIns: readonly string[]): string {
  if (!/^\s*module\s*$/i.test(script.type) || text.indexOf(ASSIGN) >= 0) return text;
  const linked = withModuleLinks(wombat, text, 'esm_');
  const declared: string[] = [];
  if (wombat.skipWrapScriptTextBasedOnText(linked, declared)) return linked;
  const missing = standIns.filter(
    (name) =>
      declared.indexOf(name) < 0 &&
      !new RegExp(`\\b(?:var|let|const|function|class|import|as)\\s+${name}\\b`).test(linked),
  );
  const assign =
    `const ${ASSIGN}=(name)=>{const w=globalThis._wb_wombat;` +
    'return(w&&w.local_init&&w.local_init(name))||globalThis[name]};';
  return assign + missing.map((name) => `let ${name}=${ASSIGN}("${name}");`).join('') + linked;
}
