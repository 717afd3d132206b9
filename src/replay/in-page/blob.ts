/** Reads and makes blobs that contain text. */
import type { Wombat } from './wombat.ts';

/** Reads a blob. Returns the completed request. */
export function readBlob(wombat: Wombat, url: string): XMLHttpRequest {
  const request = new XMLHttpRequest();
  wombat.utilFns.XHRopen.call(request, 'GET', url, false);
  wombat.utilFns.XHRsend.call(request);
  return request;
}

export function blobUrl(wombat: Wombat, text: string, type: string): string {
  return wombat.URL.createObjectURL(new Blob([text], { type }));
}
