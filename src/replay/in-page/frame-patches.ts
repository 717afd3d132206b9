/** Patches frames that scripts create: from text, from a blob, and with a sandbox. */
import { blobUrl, readBlob } from './blob.ts';
import { preparedDocument } from './prepared-document.ts';
import type { Wombat } from './wombat.ts';

type FrameWithText = Element & { __wb_srcdoc?: unknown };

export function patchFrames(methods: Wombat): void {
  patchSourceDocuments(methods);
  patchBlobFrames(methods);
  patchFrameAttributes(methods);
}

/** Wombat rewrites the text of a frame (`srcdoc`), but does not run in that frame. */
function patchSourceDocuments(methods: Wombat): void {
  methods.overrideHtmlAssignSrcDoc = function (this: Wombat, owner, name) {
    const wombat = this;
    const set = this.getOrigSetter(owner.prototype, name)!;
    this.defProp<FrameWithText>(
      owner.prototype,
      name,
      function (value) {
        this.__wb_srcdoc = value;
        set.call(this, preparedDocument(wombat, String(value)));
      },
      // A page reads back the text that it assigned.
      function () {
        return this.__wb_srcdoc;
      },
    );
  };
  const rewriteFrame = methods.rewriteFrameSrc;
  methods.rewriteFrameSrc = function (this: Wombat, element, name) {
    const html = this.wb_getAttribute.call(element, 'srcdoc');
    const prepared = html && preparedDocument(this, html);
    if (prepared !== html) this.wb_setAttribute.call(element, 'srcdoc', prepared!);
    return rewriteFrame.call(this, element, name) || prepared !== html;
  };
}

/** Wombat does not rewrite a page in a blob. */
function patchBlobFrames(methods: Wombat): void {
  const rewriteUrl = methods.rewriteUrl;
  methods.rewriteUrl = function (this: Wombat, url, isRelative, modifier, document) {
    if (modifier !== 'if_' || !/^blob:/i.test(url)) return rewriteUrl.call(this, url, isRelative, modifier, document);
    try {
      const reply = readBlob(this, url);
      const isPage = /^text\/html\b/i.test(reply.getResponseHeader('content-type') ?? '');
      return isPage ? blobUrl(this, preparedDocument(this, reply.responseText), 'text/html;charset=utf-8') : url;
    } catch {
      return url;
    }
  };
}

/**
 * Wombat cannot work in a frame without an origin. The server gives an origin to frames in the HTML of the page. This
 * function gives one to frames that scripts create.
 */
function patchFrameAttributes(methods: Wombat): void {
  const prepare = methods.initElementGetSetAttributeOverride;
  methods.initElementGetSetAttributeOverride = function (this: Wombat) {
    prepare.call(this);
    const wombat = this;
    const element = this.$wbwindow.Element.prototype;
    const frame = this.$wbwindow.HTMLIFrameElement.prototype;
    const set = element.setAttribute;
    element.setAttribute = function setAttribute(name, value) {
      if (this.localName !== 'iframe') return set.call(this, name, value);
      if (/^sandbox$/i.test(name)) value = withOrigin(String(value));
      if (/^srcdoc$/i.test(name)) value = preparedDocument(wombat, String(value));
      return set.call(this, name, value);
    };
    const sandbox = Object.getOwnPropertyDescriptor(frame, 'sandbox')!;
    Object.defineProperty(frame, 'sandbox', {
      ...sandbox,
      get() {
        const tokens: DOMTokenList = sandbox.get!.call(this);
        tokens.add = (...names) => {
          Object.getPrototypeOf(tokens).add.apply(tokens, names);
          tokens.value = withOrigin(tokens.value);
        };
        return tokens;
      },
      set(value: unknown) {
        sandbox.set!.call(this, withOrigin(String(value)));
      },
    });
  };
}

function withOrigin(sandbox: string): string {
  const isWithout = /\ballow-scripts\b/i.test(sandbox) && !/\ballow-same-origin\b/i.test(sandbox);
  return isWithout ? `${sandbox} allow-same-origin` : sandbox;
}
