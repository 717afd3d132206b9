/**
 * Decides where the targets of links, forms and scripts open. The frame of replay cannot open windows. So a link to a
 * new window opens in the frame of replay, and a link that names a frame of the page opens in that frame. Frames are
 * known only when a link is followed, so names stay as they are until then.
 *
 * A frame in a sandbox may navigate itself and the frames inside it. It may not navigate the page around it, or a frame
 * beside it as the menu of a frameset does. The page that contains both frames follows such a link. A window that opens
 * without a click, such as an advertisement, would replace the page. It is refused, as in browsers.
 */
import { methodsOf } from './property.ts';
import type { PageWindow, Wombat } from './wombat.ts';

/** The window that follows a link, and the name of the frame in which the link opens. */
type Way = { readonly from: PageWindow; readonly target: string; readonly isWindow?: boolean };
type Button = HTMLButtonElement | HTMLInputElement;

export function patchTargets(methods: Wombat): void {
  // Wombat would open a link that names another frame of the page in the frame of replay.
  methods.rewriteAttrTarget = (target) => target;

  const prepare = methods.initOpenOverride;
  methods.initOpenOverride = function (this: Wombat) {
    prepare.call(this);
    patchOpen(this);
    patchFollowing(this.$wbwindow);
  };

  const prepareWriting = methods.initDocWriteOpenCloseOverride;
  methods.initDocWriteOpenCloseOverride = function (this: Wombat) {
    prepareWriting.call(this);
    listenForFollowing(this.$wbwindow);
  };
}

function patchOpen(wombat: Wombat): void {
  const win = wombat.$wbwindow;
  const openHere = win.open;
  const open: typeof win.open = function (this: Window | undefined, url, name, features) {
    const way = wayTo(win, String(name || '_blank'));
    const activation = win.navigator.userActivation;
    if (way.isWindow && activation && !activation.isActive) return null;
    // The script opens an empty window first and navigates it later.
    if (way.isWindow && /^about:blank$/i.test(String(url))) url = '';
    if (way.from === win) return openHere.call(this || win, url, way.target, features);
    if (url) follow(way, new wombat.URL(url, win.document.baseURI).href);
    return wombat.objToProxy(way.target === '_self' ? way.from : (frameNamed(way.from, way.target) ?? null));
  };
  win.open = open;
  const { prototype } = win.Window;
  if (prototype.open) prototype.open = open;
}

/** Patches `submit()` and `click()`, which scripts call on forms and links. No event comes before them. */
function patchFollowing(win: PageWindow): void {
  const submit = win.HTMLFormElement.prototype.submit;
  win.HTMLFormElement.prototype.submit = function () {
    const way = settleForm(win, this, null);
    if (way.from === win) submit.call(this);
    else send(win, this, null, way);
  };
  const click = win.HTMLElement.prototype.click;
  win.HTMLElement.prototype.click = function () {
    if (isLink(this)) settle(win, this, 'target');
    click.call(this);
  };
}

/**
 * Listens before the listeners of the page, which may stop the event, and after them, as they may change the target.
 */
function listenForFollowing(win: PageWindow): void {
  const endings = new EventEndings();
  const clicked = (isLast: boolean) => (event: Event) => onClick(win, event as MouseEvent, isLast, endings);
  const submitted = (isLast: boolean) => (event: Event) => onSubmit(win, event as SubmitEvent, isLast, endings);
  const listeners = [
    { type: 'click', first: clicked(false), last: clicked(true) },
    { type: 'submit', first: submitted(false), last: submitted(true) },
  ];
  function listen(to: EventTarget): void {
    for (const { type, first, last } of listeners) {
      to.addEventListener(type, first, true);
      to.addEventListener(type, last, false);
    }
  }
  listen(win);
  // Outside of a closed shadow root, its events do not name the link.
  const attach = win.Element.prototype.attachShadow;
  win.Element.prototype.attachShadow = function (options) {
    const root = attach.call(this, options);
    if (root.mode === 'closed') listen(root);
    return root;
  };
  // A document that is written again loses all its listeners.
  for (const name of ['open', 'write', 'writeln']) {
    const own = methodsOf(win.document)[name]!;
    const written = function (this: Document, ...values: unknown[]) {
      const result = own.apply(this, values);
      listen(win);
      return result;
    };
    methodsOf(win.document)[name] = methodsOf(win.Document.prototype)[name] = written;
  }
}

/** Records which events reached their last listener, so that the page did not stop them. */
class EventEndings {
  private readonly ended = new WeakSet<Event>();

  /** Calls `act` a little later if the page stopped the event. */
  note(event: Event, isLast: boolean, act: () => void): void {
    if (isLast) this.ended.add(event);
    else setTimeout(() => this.ended.has(event) || act());
  }
}

function onClick(
  win: PageWindow,
  event: MouseEvent,
  isLast: boolean,
  endings: EventEndings,
  known?: HTMLAnchorElement,
): void {
  const link = known || event.composedPath().find(isLink);
  if (!link) return;
  endings.note(event, isLast, () => onClick(win, event, true, endings, link));
  const way = settle(win, link, 'target');
  const url = typeof link.href === 'string' ? link.href : '';
  const isPlain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.defaultPrevented;
  if (!isLast || !isPlain || way.from === win || !/^https?:/i.test(url) || link.hasAttribute('download')) return;
  event.preventDefault();
  follow(way, url);
}

function onSubmit(win: PageWindow, event: SubmitEvent, isLast: boolean, endings: EventEndings): void {
  if (!event.isTrusted) return;
  endings.note(event, isLast, () => onSubmit(win, event, true, endings));
  const form = event.target as HTMLFormElement;
  const button = event.submitter as Button | null;
  const way = settleForm(win, form, button);
  if (!isLast || event.defaultPrevented || way.from === win) return;
  event.preventDefault();
  send(win, form, button, way);
}

function wayTo(win: PageWindow, target: string): Way {
  const top = win.__WB_replay_top || win;
  if (!target || /^_self$/i.test(target)) return { from: win, target };
  if (/^_parent$/i.test(target)) return { from: win === top ? top : (win.parent as PageWindow), target: '_self' };
  const frame = /^_/.test(target) ? undefined : frameNamed(top, target);
  if (frame) return { from: isWithin(frame, win) ? win : top, target };
  return { from: top, target: '_self', isWindow: !/^_top$/i.test(target) };
}

function frameNamed(win: Window, name: string): PageWindow | undefined {
  try {
    if (win.name === name) return win as PageWindow;
    for (let at = 0; at < win.frames.length; at++) {
      const found = frameNamed(win.frames[at]!, name);
      if (found) return found;
    }
  } catch {}
  return undefined;
}

function isWithin(win: Window, other: Window): boolean {
  for (let at = win; ; at = at.parent) {
    if (at === other) return true;
    if (at === at.parent) return false;
  }
}

/**
 * Finds the way of a link or form. If its own window can follow the way, sets the attribute and leaves the rest to the
 * browser.
 */
function settle(win: PageWindow, element: Element, name: string): Way {
  const base: HTMLBaseElement | null = element.ownerDocument.querySelector('base[target]');
  const target = element.getAttribute(name) || base?.target || '';
  const way = wayTo(win, target);
  if (way.from === win && way.target !== target) element.setAttribute(name, way.target);
  return way;
}

function settleForm(win: PageWindow, form: HTMLFormElement, button: Button | null): Way {
  return button?.hasAttribute('formtarget') ? settle(win, button, 'formtarget') : settle(win, form, 'target');
}

function isLink(node: EventTarget): node is HTMLAnchorElement {
  return /^(?:a|area)$/i.test((node as Element).localName || '');
}

function follow(way: Way, url: string): void {
  const link = way.from.document.createElement('a');
  link.href = url;
  link.target = way.target;
  link.click();
}

/** Sends a copy of the form from the window of the way. */
function send(win: PageWindow, form: HTMLFormElement, button: Button | null, way: Way): void {
  const document = way.from.document;
  const copy = document.createElement('form');
  copy.hidden = true;
  copy.action = button?.hasAttribute('formaction') ? button.formAction : formProperty(win, form, 'action');
  copy.method = button?.hasAttribute('formmethod') ? button.formMethod : formProperty(win, form, 'method');
  copy.enctype = formProperty(win, form, 'enctype');
  copy.target = way.target;
  const values = new win.FormData(form);
  if (button?.name) values.append(button.name, button.value);
  const fields: HTMLTextAreaElement[] = [];
  values.forEach((value, name) => {
    if (typeof value !== 'string') return;
    const field = document.createElement('textarea');
    field.name = name;
    field.value = value;
    fields.push(field);
  });
  copy.append(...fields);
  document.documentElement.appendChild(copy);
  way.from.HTMLFormElement.prototype.submit.call(copy);
  document.documentElement.removeChild(copy);
}

/** Reads a property of a form, even if a field of the form has the same name. */
function formProperty(win: PageWindow, form: HTMLFormElement, name: string): string {
  return Object.getOwnPropertyDescriptor(win.HTMLFormElement.prototype, name)!.get!.call(form);
}
