/**
 * The parts of wombat 3.10 that the patches call or replace. Wombat has no types of its own. A patch replaces a method
 * of the prototype, so that the patch also works in frames without a URL of their own, which wombat prepares by itself.
 */

/** Facts about the page, under wombat's names for them (`wombatInfo` in page-head.ts). */
export type WombatInfo = {
  readonly url: string;
  readonly timestamp: string;
  readonly prefix: string;
  readonly static_prefix: string;
  readonly wombat_ts: string;
};

/** A window of a replayed page, with the names that wombat and the page script add to it. */
export type PageWindow = Window &
  typeof globalThis & {
    WB_wombat_location: Location;
    wbinfo?: WombatInfo;
    readonly __WB_replay_top?: PageWindow;
    readonly __WB_source?: PageWindow;
    readonly _wb_wombat: { local_init(name: string): unknown };
    ____wb_rewrite_import__?: (base: string | undefined, specifier: unknown, options?: object) => Promise<unknown>;
    __pinakes_eval?: (run: unknown) => unknown;
    __pinakes_code?: (code: unknown) => unknown;
    __pinakes_place?: (get: () => unknown, set: (value: unknown) => void) => { value: unknown };
  };

/** An element, link or location with the notes that wombat keeps on it. */
export type Noted = {
  _no_rewrite?: boolean;
  _orig_href?: string | undefined;
  readonly ownerDocument?: Document;
};

export type Evaluate = (code: unknown, extra?: unknown) => unknown;
export type PartGetter = (this: Noted, part?: string) => string;
export type PartSetter = (this: Noted, value: unknown) => unknown;

export type Wombat = {
  readonly $wbwindow: PageWindow;
  readonly URL: typeof URL;
  readonly wb_info: WombatInfo;
  readonly wb_unrewrite_rx: RegExp;
  readonly workerBlobRe: RegExp;
  readonly rmCheckThisInjectRe: RegExp;
  readonly wb_getAttribute: Element['getAttribute'];
  readonly wb_setAttribute: Element['setAttribute'];
  readonly utilFns: { readonly XHRopen: XMLHttpRequest['open']; readonly XHRsend: XMLHttpRequest['send'] };
  wb_orig_origin: string;
  wrappedEval: (run: Evaluate) => Evaluate;

  rewriteUrl(url: string, isRelative?: boolean, modifier?: string, document?: Document): string;
  extractOriginalURL(url: string | null): string;
  rewriteHtml(html: string): string | undefined;
  rewriteStyle(css: string): string;
  rewriteElem(element: (Element & Noted) | null): boolean;
  rewriteFrameSrc(element: Element, name: string): boolean;
  rewriteScript(script: HTMLScriptElement): boolean;
  rewriteHTMLAssign(element: Element, setter: (this: Element, value: string) => void, value: unknown): void;
  rewriteWorker(url: string, options?: WorkerOptions): string;
  rewriteEvalArg(run: Evaluate, code: unknown, extra?: unknown): unknown;
  rewriteAttrTarget(target: string): string;
  /** Whether a script needs no rewriting. Adds the names that the script declares to `declared`. */
  skipWrapScriptTextBasedOnText(code: string, declared: string[]): boolean;
  wrapScriptTextJsProxy(code: string, excludes?: string[]): string;

  defaultProxyGet(object: unknown, name: PropertyKey, ownNames: string[], functions: object): unknown;
  proxyToObj<T>(value: T): T;
  objToProxy<T>(value: T): T;
  makeGetLocProp(part: string, getter: PartGetter): PartGetter;
  makeSetLocProp(part: string, setter: PartSetter, getter: PartGetter): PartSetter;
  overrideReferrer(document: Document): void;
  overrideHtmlAssign(owner: { readonly prototype: Element } | undefined, name: string, isRead?: boolean): void;
  overrideHtmlAssignSrcDoc(owner: { readonly prototype: Element }, name: string): void;
  overrideAttr(prototype: Element, name: string, modifier: string): void;
  overridePropToProxy(prototype: object, name: string): void;
  getOrigGetter(object: object, name: string): (() => string) | undefined;
  getOrigSetter(object: object, name: string): ((value: string) => void) | undefined;
  defProp<T extends object>(
    object: T,
    name: string,
    setter: (this: T, value: unknown) => void,
    getter: (this: T) => unknown,
  ): boolean;
  defGetterProp<T extends object>(object: T, name: string, getter: (this: T) => unknown): boolean;

  initAttrOverrides(): void;
  initCacheStorageOverride(): void;
  initCachesOverride(): void;
  initCSSOMOverrides(): void;
  initDateOverride(timestamp: string): void;
  initDocWriteOpenCloseOverride(): void;
  initElementGetSetAttributeOverride(): void;
  initEvalOverride(): void;
  initHTTPOverrides(): void;
  initImportWrapperFunc(window: PageWindow): void;
  initIndexedDBOverride(): void;
  initOpenOverride(): void;
  initPostMessageOverride(window: PageWindow): void;
  initQuerySelectorOverride(): void;
  initStorageOverride(): void;
  initWSOverride(): void;
};
