/**
 * The script that prepares a replayed page before any script of its own runs. It starts wombat and removes features
 * that would reach outside of the page or outlast it. This script helps pages to work; the policies
 * (security-fields.ts) keep pages inside the archive.
 */
import { keepCookiesInPage } from './cookie-jar.ts';
import type { PageSettings } from './page-settings.ts';
import { restoreResponseFields } from './response-fields.ts';
import type { PageWindow, Wombat, WombatInfo } from './wombat.ts';
import { patchWombat } from './wombat-patches.ts';

declare const self: PageWindow & {
  readonly _WBWombat: { readonly prototype: Wombat };
  readonly _WBWombatInit?: (info: WombatInfo) => void;
  readonly __WB_check_loc?: (value: unknown) => object | undefined;
  __pinakes_location?: (get: () => unknown) => object;
  pinakesReplay?: (info: WombatInfo) => void;
};

/** Defines `pinakesReplay`, which the head of the page calls at once. */
export function definePageStart(settings: PageSettings): void {
  self.pinakesReplay = (info) => {
    removeOwnElements();
    delete self.pinakesReplay;
    self.wbinfo = info;
    keepCookiesInPage();
    refuseServiceWorkers();
    refusePeers();
    markScriptRequests();
    defineAssignedLocation();
    if (!self._WBWombatInit) return;
    patchWombat(self._WBWombat.prototype, settings);
    self._WBWombatInit(info);
    restoreResponseFields(settings.originalFieldPrefix);
  };
}

/** Removes the running inline script and the two scripts before it. */
function removeOwnElements(): void {
  let own: ChildNode | null = document.currentScript;
  for (let count = 0; own && count < 3; count++) {
    const before: ChildNode | null = own.previousSibling;
    own.parentNode!.removeChild(own);
    own = before && isOwnScript(before) ? before : null;
  }
}

function isOwnScript(node: Node): boolean {
  if (node.nodeName.toLowerCase() !== 'script') return false;
  return /^(?:https?:\/\/[^/]*)?\/static\//.test((node as Element).getAttribute('src') ?? '');
}

function refuseServiceWorkers(): void {
  if (!self.ServiceWorkerContainer) return;
  self.ServiceWorkerContainer.prototype.register = () =>
    Promise.reject(new DOMException('Archived pages have no service workers.', 'SecurityError'));
}

function refusePeers(): void {
  for (const name of ['RTCPeerConnection', 'webkitRTCPeerConnection', 'RTCDataChannel', 'WebTransport']) {
    try {
      Reflect.deleteProperty(self, name);
    } catch {}
  }
}

/**
 * Marks requests that scripts send with `fetch`. Over plain HTTP a browser does not say that a script sent a request,
 * and the server would answer with a rewritten page. Wombat marks requests of XMLHttpRequest only.
 */
function markScriptRequests(): void {
  if (self.isSecureContext || !self.fetch) return;
  const send = self.fetch;
  self.fetch = function fetch(input, init) {
    const request = input instanceof self.Request && !init?.headers ? input : undefined;
    const fields = request ? request.headers : new Headers(init?.headers);
    fields.set('X-Pywb-Requested-With', 'XMLHttpRequest');
    return send.call(self, input, request ? init : { ...init, headers: fields });
  };
}

/**
 * Defines the object to which `location = x` assigns: the page's location, or an unused object if `location` is a
 * variable.
 */
function defineAssignedLocation(): void {
  self.__pinakes_location = (get) => {
    let found: unknown;
    try {
      found = get();
    } catch {
      return {};
    }
    return self.__WB_check_loc?.(found) || {};
  };
}
