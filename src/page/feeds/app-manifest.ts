/** Reads the manifest of a web application (W3C), which is JSON with icons, screenshots and start pages. */
import { arrayOf, objectOf, stringOf } from '../json-value.ts';
import { type Link, LinkCollector } from '../link.ts';

const ICONS_MAX = 1000;
const JSON_MIMES: ReadonlySet<string> = new Set(['application/json', 'text/json']);

/** True if this is a manifest. Many manifests are served as plain JSON, and are recognised by their file name. */
export function isAppManifest(mime: string, url: string): boolean {
  if (mime === 'application/manifest+json' || mime === 'application/x-web-app-manifest+json') return true;
  return JSON_MIMES.has(mime) && url.split(/[?#]/).some(isNamedManifest);
}

function isNamedManifest(path: string): boolean {
  return path.slice(path.lastIndexOf('/')).toLowerCase().includes('manifest');
}

/** The links of a manifest. */
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
    // Invalid JSON has no links.
  }
  return links.resolve(url);
}
