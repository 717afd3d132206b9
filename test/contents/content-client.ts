/** Small requests to the routes of contents, tokens for them, and commands that use them. */
import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { hashOfToken, type NamedToken, TokenFile } from '../../src/server/index.ts';
import type { Reply, Served } from '../api/served-archive.ts';
import { LAUNCHER, type Outcome } from '../journeys/pinakes-process.ts';

export function sha256(bytes: Uint8Array | string): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** Adds a named token to an archive, as the command line does. Returns the token. */
export async function newToken(
  directory: string,
  name: string,
  rights: NamedToken['rights'],
  more: Partial<NamedToken> = {},
): Promise<string> {
  const secret = `pin_${randomBytes(32).toString('base64url')}`;
  await new TokenFile(directory).add({ name, hash: hashOfToken(secret), rights, created: 0, ...more });
  return secret;
}

/** Runs a command with more in its environment, while this process serves. */
export async function runWith(
  cwd: string,
  environment: Readonly<Record<string, string>>,
  args: readonly string[],
): Promise<Outcome> {
  const env = { ...process.env, ...environment, PINAKES_PROGRAM: 'pinakes' };
  const child = spawn(LAUNCHER, args, { cwd, env });
  const texts = { out: '', err: '' };
  child.stdout.on('data', (piece) => (texts.out += piece));
  child.stderr.on('data', (piece) => (texts.err += piece));
  const [code] = await once(child, 'close');
  return { code, ...texts };
}

export type SentCapture = {
  digest: string;
  id?: string;
  url?: string;
  head?: string;
  mime?: string;
  time?: string;
  ip?: string;
  request?: string;
};

/** The calls of one client with one token. */
export class ContentCalls {
  readonly #one: Served;
  readonly #token: string;

  constructor(one: Served, token: string) {
    this.#one = one;
    this.#token = token;
  }

  call(path: string, options: Parameters<Served['call']>[1] = {}): Promise<Reply> {
    return this.#one.call(path, { token: this.#token, ...options });
  }

  missing(digests: readonly string[]): Promise<Reply> {
    return this.call('/api/contents/missing', { json: { digests } });
  }

  put(content: Uint8Array | string, query = ''): Promise<Reply> {
    const body = Buffer.from(content);
    const path = `/api/contents/${sha256(body)}?size=${body.length}${query}`;
    return this.call(path, { method: 'PUT', body });
  }

  post(id: string, captures: readonly SentCapture[], more: object = {}): Promise<Reply> {
    return this.call('/api/contents/captures', {
      json: { id, time: '2024-03-01T10:00:00Z', captures, ...more },
    });
  }
}
