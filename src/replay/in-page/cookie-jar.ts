/** Keeps cookies in the page while it is open. The browser would send its own cookies to every port of the host. */

const COOKIES_MAX = 200;
const VALUE_CHARACTERS_MAX = 4096;

export function keepCookiesInPage(): void {
  const jar = new Map<string, string>();
  Object.defineProperty(Document.prototype, 'cookie', {
    configurable: true,
    enumerable: true,
    get: () => Array.from(jar, ([name, value]) => (name === '' ? value : `${name}=${value}`)).join('; '),
    set: (text: unknown) => setCookie(jar, String(text)),
  });
  try {
    Reflect.deleteProperty(self, 'cookieStore');
  } catch {}
  try {
    Object.defineProperty(self, 'cookieStore', { value: undefined, configurable: true });
  } catch {}
}

function setCookie(jar: Map<string, string>, text: string): void {
  const [first, ...attributes] = text.split(';');
  const pair = first!.trim();
  const equals = pair.indexOf('=');
  const name = equals < 0 ? '' : pair.slice(0, equals).trim();
  if (attributes.some(isPast)) jar.delete(name);
  else if (jar.size < COOKIES_MAX) {
    jar.set(name, (equals < 0 ? pair : pair.slice(equals + 1)).trim().slice(0, VALUE_CHARACTERS_MAX));
  }
}

function isPast(attribute: string): boolean {
  const [, name, value] = /^\s*(max-age|expires)\s*=\s*(.*?)\s*$/i.exec(attribute) ?? [];
  if (name === undefined) return false;
  if (name.toLowerCase() === 'max-age') return Number(value) <= 0;
  return Date.parse(value!.replace(',|', ',')) < Date.now();
}
