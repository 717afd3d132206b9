/** Patches messages between windows, and listeners. */
import { methodsOf, wrapGetter } from './property.ts';
import type { PageWindow, Wombat } from './wombat.ts';

type PostMessage = (
  this: PageWindow,
  message: unknown,
  to?: unknown,
  transfer?: Transferable[],
  isFromTop?: boolean,
) => void;
/** The object that wombat sends in place of a message. */
type Packed = { readonly from: string; readonly to_origin: string; readonly message: unknown };

export function patchMessages(methods: Wombat): void {
  const prepare = methods.initPostMessageOverride;
  methods.initPostMessageOverride = function (this: Wombat, win) {
    const isPrepared = !win.postMessage || '__orig_postMessage' in win;
    prepare.call(this, win);
    if (isPrepared || !win.EventTarget) return;
    // Wombat gives listeners the window itself, which is not equal to the stand-in.
    this.overridePropToProxy(win.Event.prototype, 'currentTarget');
    patchPostMessage(this, win);
    unpackEmptyMessages(win);
    patchListeners(win);
  };
}

/**
 * A missing target origin, or '/', means the origin of the sender; wombat sends to any origin. Wombat also sends
 * nothing to a document without a URL of its own, which has the origin of the page around it.
 */
function patchPostMessage(wombat: Wombat, win: PageWindow): void {
  const post = win.postMessage as PostMessage;
  const patched: PostMessage = function postMessage(message, to, transfer, isFromTop) {
    const options = to && typeof to === 'object' ? (to as WindowPostMessageOptions) : { targetOrigin: to, transfer };
    const receiver = wombat.proxyToObj(this) || win;
    let origin = options.targetOrigin;
    if (origin === undefined || origin === '/') origin = (receiver.__WB_source || win).WB_wombat_location.origin;
    const isBlank = receiver.location.origin === 'null';
    if (isBlank && receiver.WB_wombat_location && receiver.WB_wombat_location.origin === origin) origin = '*';
    return post.call(this, message, origin, options.transfer, isFromTop);
  };
  win.postMessage = win.Window.prototype.postMessage = patched;
}

/** Wombat does not unpack empty messages: 0, '', null. */
function unpackEmptyMessages(win: PageWindow): void {
  const packedOf = Object.getOwnPropertyDescriptor(win.MessageEvent.prototype, 'data')!.get!;
  const unpack = (name: string, part: keyof Packed) =>
    wrapGetter(win.MessageEvent, name, (value, event) => {
      const packed: Packed | undefined = packedOf.call(event);
      const isPacked = packed && typeof packed === 'object' && 'from' in packed && 'to_origin' in packed;
      return isPacked && !packed.message ? packed[part] : value;
    });
  unpack('origin', 'from');
  unpack('data', 'message');
}

/**
 * Called as a plain function, `addEventListener` means the window. Wombat fails at every message to a listener that was
 * added this way.
 */
function patchListeners(win: PageWindow): void {
  const target = methodsOf(win.EventTarget.prototype);
  for (const name of ['addEventListener', 'removeEventListener']) {
    const original = target[name]!;
    const patched = function (this: unknown, type: unknown, listener: unknown, options: unknown) {
      return original.call(this ?? win, type, listener, options);
    };
    Object.defineProperty(patched, 'name', { value: name });
    target[name] = patched;
  }
}
