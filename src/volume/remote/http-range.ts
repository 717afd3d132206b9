/**
 * A range of a file over HTTP. The bytes are those of the connection: no coding is undone, since the files are
 * compressed themselves.
 *
 * - Only a 206 with a Content-Range is accepted. A server that answers with the whole file does not know ranges.
 * - Redirects are followed up to a limit, to HTTP and HTTPS, and never from HTTPS to plain HTTP. Where they lead is not
 *   kept: it may have a signature in it.
 */
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest, Agent as SecureAgent } from 'node:https';
import { type RemoteAnswer, StatusError, versionOf, withoutRanges } from './remote-answer.ts';

const REDIRECTS_MAX = 5;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** Connections to one server that are kept. */
const FREE_SOCKETS_MAX = 8;

export class HttpRanges {
  readonly #plain = new Agent({ keepAlive: true, maxFreeSockets: FREE_SOCKETS_MAX });
  readonly #secure = new SecureAgent({ keepAlive: true, maxFreeSockets: FREE_SOCKETS_MAX });

  async get(url: string, from: number, to: number, signal: AbortSignal): Promise<RemoteAnswer> {
    let target = new URL(url);
    for (let redirects = 0; ; redirects++) {
      const answer = await this.#request(target, from, to, signal);
      const { statusCode: status = 0, headers } = answer;
      try {
        if (status === 206) {
          const validators = { etag: headers.etag, lastModified: headers['last-modified'] };
          return { version: versionOf(url, from, to, headers['content-range'], validators), body: answer };
        }
        if (status === 200) throw withoutRanges(url, 'the server does not know ranges: it sends the whole file');
        if (!REDIRECTS.has(status) || headers.location === undefined) throw new StatusError(status);
        if (redirects >= REDIRECTS_MAX) throw withoutRanges(url, `it leads to more than ${REDIRECTS_MAX} redirects`);
        target = nextTarget(url, target, headers.location);
      } catch (error) {
        answer.destroy();
        throw error;
      }
      answer.destroy();
    }
  }

  close(): void {
    this.#plain.destroy();
    this.#secure.destroy();
  }

  #request(target: URL, from: number, to: number, signal: AbortSignal): Promise<IncomingMessage> {
    const isSecure = target.protocol === 'https:';
    const headers = { range: `bytes=${from}-${to - 1}`, 'accept-encoding': 'identity', 'user-agent': 'pinakes' };
    return new Promise((resolve, reject) => {
      const options = { agent: isSecure ? this.#secure : this.#plain, headers, signal };
      const sent = (isSecure ? httpsRequest : httpRequest)(target.href, options, (answer) => {
        // A body that is destroyed before it is read must not end the process.
        answer.on('error', () => {});
        resolve(answer);
      });
      sent.on('error', reject);
      sent.end();
    });
  }
}

function nextTarget(url: string, from: URL, location: string): URL {
  const target = URL.canParse(location, from.href) ? new URL(location, from) : undefined;
  if (!target || !/^https?:$/.test(target.protocol) || (from.protocol === 'https:' && target.protocol === 'http:'))
    throw withoutRanges(url, 'it leads to an address that is not used: neither HTTPS, nor HTTP from HTTP');
  return target;
}
