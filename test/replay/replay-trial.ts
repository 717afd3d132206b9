/** An archive with a replayer, and the parts of an answer that tests examine. */
import type { TestContext } from 'node:test';
import type { Archive } from '../../src/archive/index.ts';
import { type Modifier, Replayer, type ReplayResponse } from '../../src/replay/index.ts';
import { makeArchive } from '../archive/trial-archive.ts';
import { type SiteFile, storeSite } from '../browser/sample-site.ts';

export const ORIGINS = { uiOrigin: 'http://localhost:8080', replayOrigin: 'http://localhost:8081' };

export type Asked = {
  readonly url: string;
  readonly at?: number | undefined;
  readonly modifier?: Modifier;
  readonly method?: string;
  readonly body?: Uint8Array;
  readonly fields?: Readonly<Record<string, string>>;
  readonly isFromPage?: boolean;
};

export type Answered = Omit<ReplayResponse, 'fields' | 'body'> & {
  readonly field: (name: string) => string | undefined;
  readonly names: string[];
  readonly bytes: Buffer;
  readonly text: string;
};

export class ReplayTrial {
  readonly archive: Archive;
  readonly replayer: Replayer;

  private constructor(archive: Archive) {
    this.archive = archive;
    this.replayer = new Replayer(archive, ORIGINS);
  }

  static async with(t: TestContext, files: readonly SiteFile[]): Promise<ReplayTrial> {
    const archive = await makeArchive(t);
    await storeSite(archive, files);
    return new ReplayTrial(archive);
  }

  async ask({
    url,
    at,
    modifier = 'mp_',
    method = 'GET',
    body,
    fields = {},
    isFromPage = false,
  }: Asked): Promise<Answered> {
    const reply = await this.replayer.respond({
      url,
      at,
      modifier,
      method,
      isFromPage,
      ...(body && { requestBody: body }),
      fields: (name) => fields[name],
    });
    const pieces: Uint8Array[] = [];
    if (reply.body instanceof Uint8Array) pieces.push(reply.body);
    else if (reply.body) for await (const piece of reply.body) pieces.push(Buffer.from(piece));
    const bytes = Buffer.concat(pieces);
    return {
      ...reply,
      field: (name) => reply.fields.find(([other]) => other.toLowerCase() === name.toLowerCase())?.[1],
      names: reply.fields.map(([name]) => name.toLowerCase()),
      bytes,
      text: bytes.toString('utf8'),
    };
  }
}
