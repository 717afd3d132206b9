/** All patches to wombat, applied before wombat starts. The comment of each patch says what wombat lacks. */
import { patchAttributes } from './attribute-patches.ts';
import { patchDates } from './date-patches.ts';
import { patchEvaluation } from './eval-patches.ts';
import { patchFrames } from './frame-patches.ts';
import { patchMessages } from './message-patches.ts';
import { patchModules } from './module-patches.ts';
import type { PageSettings } from './page-settings.ts';
import { methodsOf } from './property.ts';
import { patchSelectors } from './selector-patches.ts';
import { patchStorage } from './storage-patches.ts';
import { patchTargets } from './target-patches.ts';
import { patchUrlProperties } from './url-property-patches.ts';
import { failingWebSocket } from './web-socket.ts';
import type { Wombat } from './wombat.ts';
import { patchWorkers } from './worker-patches.ts';

export function patchWombat(methods: Wombat, settings: PageSettings): void {
  patchMessages(methods);
  patchDates(methods);
  patchEvaluation(methods, settings);
  patchModules(methods, settings.standIns);
  patchMarkup(methods);
  patchFrames(methods);
  patchWorkers(methods);
  patchConnections(methods);
  patchStorage(methods);
  patchUrlProperties(methods);
  patchAttributes(methods);
  patchSelectors(methods);
  patchTargets(methods);
}

/** Wombat does not know these newer methods that turn text into a style sheet or into a part of the page. */
function patchMarkup(methods: Wombat): void {
  const prepare = methods.initCSSOMOverrides;
  methods.initCSSOMOverrides = function (this: Wombat) {
    prepare.call(this);
    const win = this.$wbwindow;
    const style = (text: string) => this.rewriteStyle(text);
    const markup = (text: string) => this.rewriteHtml(text);
    rewriteText(win.CSSStyleSheet, 'replace', style);
    rewriteText(win.CSSStyleSheet, 'replaceSync', style);
    rewriteText(win.Element, 'setHTMLUnsafe', markup);
    rewriteText(win.ShadowRoot, 'setHTMLUnsafe', markup);
  };
}

function rewriteText(
  owner: { readonly prototype: object } | undefined,
  name: string,
  rewritten: (text: string) => string | undefined,
): void {
  const methods = owner && methodsOf(owner.prototype);
  const original = methods?.[name];
  if (!original) return;
  methods[name] = function (this: unknown, text, options) {
    return original.call(this, rewritten(String(text)), options);
  };
}

function patchConnections(methods: Wombat): void {
  methods.initWSOverride = function (this: Wombat) {
    const win = this.$wbwindow;
    if (win.WebSocket) win.WebSocket = failingWebSocket(win.WebSocket);
  };
  const prepare = methods.initHTTPOverrides;
  methods.initHTTPOverrides = function (this: Wombat) {
    const own = this.$wbwindow.EventSource;
    prepare.call(this);
    // Wombat's EventSource lacks the constants.
    if (own) Object.setPrototypeOf(this.$wbwindow.EventSource, own);
  };
}
