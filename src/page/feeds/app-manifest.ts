/**
 * The manifest of a web application (W3C): JSON that names its icons, pictures of it, and the pages that it starts
 * with.
 */
import { arrayOf, objectOf, stringOf } from '../json-value.ts';
import { type Link, LinkCollector } from '../link.ts';

const ICONS_MAX = 1000;
const JSON_MIMES: ReadonlySet<string> = new Set(['application/json', 'text/json']);

/** Whether this is such a manifest. Many are served as any JSON is; those are known by their name. */
export function isAppManifest(mime: string, url: string): boolean {
  if (mime === 'application/manifest+json' || mime === 'application/x-web-app-manifest+json') return true;
  return JSON_MIMES.has(mime) && url.split(/[?#]/).some(isNamedSo);
}

function isNamedSo(path: string): boolean {
  return path.slice(path.lastIndexOf('/')).toLowerCase().includes('manifest');
}

/** What it names. */
export function linksOfManifest(bytes: Uint8Array, url: string): Link[] {
  const links = new LinkCollector();
  const addImages = (images: unknown) => {
    for (const image of arrayOf(images, ICONS_MAX)) links.add(stringOf(objectOf(image).src), 'icon', true);
  };
  try {
    const manifest = objectOf(JSON.parse(new TextDecoder().decode(bytes)));
    addImages(manifest.icons);
    addImages(manifest.screenshots);
    links.add(stringOf(manifest.start_url), 'anchor', false);
    for (const shortcut of arrayOf(manifest.shortcuts, ICONS_MAX).map(objectOf)) {
      links.add(stringOf(shortcut.url), 'anchor', false, stringOf(shortcut.name));
      addImages(shortcut.icons);
    }
  } catch {
    // What is no JSON names nothing.
  }
  return links.resolve(url);
}
