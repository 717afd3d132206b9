/**
 * The files of the web interface, read once when the server starts. Only these files are served, whatever a path
 * contains. Files with a hash of their content in the name can be cached forever. `index.html` is sent for every screen
 * and is revalidated each time.
 */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join, relative, sep } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { readingFile } from '../base/index.ts';
import { acceptsGzip } from './http/accept-encoding.ts';
import { hasTag } from './http/file-reply.ts';
import { endReply } from './http/reply-end.ts';

const MIMES: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  html: 'text/html; charset=utf-8',
  ico: 'image/x-icon',
  js: 'text/javascript; charset=utf-8',
  json: 'application/json; charset=utf-8',
  map: 'application/json; charset=utf-8',
  png: 'image/png',
  svg: 'image/svg+xml',
  txt: 'text/plain; charset=utf-8',
  webmanifest: 'application/manifest+json',
  woff2: 'font/woff2',
};

type UiFile = {
  readonly bytes: Buffer;
  readonly packed: Buffer | undefined;
  readonly mime: string;
  readonly etag: string;
  readonly isImmutable: boolean;
};

export class UiFiles {
  readonly #files: ReadonlyMap<string, UiFile>;

  private constructor(files: ReadonlyMap<string, UiFile>) {
    this.#files = files;
  }

  /** Without a directory there are no files and no screens. */
  static async load(directory: string | undefined): Promise<UiFiles> {
    const files = new Map<string, UiFile>();
    if (directory !== undefined) {
      await readingFile(directory, async () => {
        for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
          if (!entry.isFile()) continue;
          const path = join(entry.parentPath, entry.name);
          files.set(`/${relative(directory, path).split(sep).join('/')}`, await readUiFile(path));
        }
      });
    }
    return new UiFiles(files);
  }

  has(path: string): boolean {
    return path !== '/index.html' && this.#files.has(path);
  }

  /** Whether the files of the web interface exist. */
  get hasScreens(): boolean {
    return this.#files.has('/index.html');
  }

  /** Sends a file. The page may show frames of the replay origin only. */
  send(request: IncomingMessage, response: ServerResponse, path: string, replayOrigin: string): void {
    const file = this.#files.get(path)!;
    const isPacked = file.packed !== undefined && acceptsGzip(request);
    const body = isPacked ? file.packed! : file.bytes;
    const fields = {
      ...fieldsOf(file, replayOrigin),
      ...(file.packed && { vary: 'accept-encoding' }),
    };
    if (hasTag(request.headers['if-none-match'], file.etag)) {
      response.writeHead(304, fields).end();
      return;
    }
    response.writeHead(200, {
      ...fields,
      'content-type': file.mime,
      'content-length': body.length,
      ...(isPacked && { 'content-encoding': 'gzip' }),
    });
    endReply(response, body);
  }

  /** Sends the application, which shows the screen of the address. */
  sendScreen(request: IncomingMessage, response: ServerResponse, replayOrigin: string): void {
    this.send(request, response, '/index.html', replayOrigin);
  }
}

const POLICY = [
  "default-src 'self'",
  "img-src 'self' data:",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ');

function fieldsOf(file: UiFile, replayOrigin: string): Record<string, string> {
  return {
    'cache-control': file.isImmutable ? 'public, max-age=31536000, immutable' : 'no-cache',
    'content-security-policy': `${POLICY}; frame-src ${replayOrigin}`,
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    etag: file.etag,
    'referrer-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
  };
}

async function readUiFile(path: string): Promise<UiFile> {
  const bytes = await readFile(path);
  const extension = path.slice(path.lastIndexOf('.') + 1).toLowerCase();
  const packed = bytes.length > 1400 ? await promisify(gzip)(bytes, { level: 9 }) : undefined;
  return {
    bytes,
    packed: packed && packed.length < bytes.length * 0.95 ? packed : undefined,
    mime: MIMES[extension] ?? 'application/octet-stream',
    etag: `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 27)}"`,
    isImmutable: /[-.][A-Za-z0-9_]{8,}\.[a-z0-9]+(\.map)?$/.test(path),
  };
}
