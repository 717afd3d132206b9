/** Sends requests to the server. Every failure becomes an ApiError with a sentence for people. */
import { EventReader, type ServerEvent } from './event-stream.ts';
import { faultAdvice, faultPlace, faultSentence, type ShownFault } from './fault.ts';
import type { ErrorReply, Job } from './replies.ts';
import { SIGNED_OUT_EVENT } from './signed-out.ts';
import { currentToken, dropToken } from './token.ts';

export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly advice: string | undefined;
  /** The value or file that the error is about, as typed or named. */
  readonly where: string | undefined;
  /** The place of a syntax error in a query. */
  readonly at: number | undefined;
  readonly length: number;

  constructor(status: number, fault: ShownFault) {
    super(faultSentence(fault));
    this.status = status;
    this.code = fault.code;
    this.advice = faultAdvice(fault);
    this.where = faultPlace(fault);
    this.at = fault.at;
    this.length = fault.length ?? 0;
  }
}

export const UNREACHABLE: ShownFault = {
  code: 'UNREACHABLE',
  message: 'The server does not answer.',
  advice: 'Check that `pinakes serve` is still running, then try again.',
};

export function apiPath(path: string, query: Readonly<Record<string, string | number | undefined>> = {}): string {
  const given = Object.entries(query).filter((pair): pair is [string, string | number] => pair[1] !== undefined);
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return text === '' ? `/api/${path}` : `/api/${path}?${text}`;
}

export async function get<Reply>(path: string, signal?: AbortSignal): Promise<Reply> {
  return send<Reply>(path, { headers: { accept: 'application/json', ...tokenField() }, ...(signal && { signal }) });
}

/** The text of a reply that is not JSON. */
export async function getText(path: string): Promise<string> {
  return fetchText(path, { headers: tokenField() });
}

/** Reads the events of a path until the connection ends. */
export async function follow(
  path: string,
  signal: AbortSignal,
  { onOpen, onEvent }: { onOpen(): void; onEvent(event: ServerEvent): void },
): Promise<void> {
  const headers = { accept: 'text/event-stream', ...tokenField() };
  const response = await fetch(path, { credentials: 'same-origin', headers, signal });
  if (!response.ok || !response.body) throw failure(response.status, await response.text());
  onOpen();
  const events = new EventReader();
  const texts = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await texts.read();
    if (done) return;
    for (const event of events.take(value)) onEvent(event);
  }
}

export async function post<Reply>(path: string, body: unknown): Promise<Reply> {
  const headers = { accept: 'application/json', 'content-type': 'application/json', ...tokenField() };
  return send<Reply>(path, { method: 'POST', headers, body: JSON.stringify(body) });
}

export async function remove(path: string): Promise<void> {
  await send(path, { method: 'DELETE', headers: { accept: 'application/json', ...tokenField() } });
}

function tokenField(): Readonly<Record<string, string>> {
  const token = currentToken();
  return token === undefined ? {} : { authorization: `Bearer ${token}` };
}

async function send<Reply>(path: string, init: RequestInit): Promise<Reply> {
  return JSON.parse(await fetchText(path, init)) as Reply;
}

async function fetchText(path: string, init: RequestInit): Promise<string> {
  let response: Response;
  try {
    response = await fetch(path, { credentials: 'same-origin', ...init });
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new ApiError(0, UNREACHABLE);
  }
  const text = await response.text();
  if (response.ok) return text;
  throw failure(response.status, text);
}

function failure(status: number, text: string): ApiError {
  if (status === 401) {
    dropToken();
    dispatchEvent(new Event(SIGNED_OUT_EVENT));
  }
  try {
    const { error } = JSON.parse(text) as ErrorReply;
    if (typeof error.message === 'string') return new ApiError(status, error);
  } catch {
    // The reply is not from our server; perhaps it is from a proxy.
  }
  return new ApiError(status, { code: `HTTP_${status}`, message: `The server answered with status ${status}.` });
}

export type Upload = { readonly job: Promise<Job>; cancel(): void };

/** Uploads a file and reports the progress. It uses XMLHttpRequest, because fetch() does not report progress. */
export function upload(file: File, collection: string, onProgress: (share: number) => void): Upload {
  const request = new XMLHttpRequest();
  const job = new Promise<Job>((resolve, reject) => {
    request.open('POST', apiPath('uploads', { name: file.name, collection: collection || undefined }));
    request.setRequestHeader('accept', 'application/json');
    request.setRequestHeader('content-type', 'application/octet-stream');
    for (const [name, value] of Object.entries(tokenField())) request.setRequestHeader(name, value);
    request.upload.onprogress = (event) => {
      if (event.lengthComputable) onProgress(event.loaded / event.total);
    };
    request.onload = () => {
      if (request.status < 300) resolve(JSON.parse(request.responseText) as Job);
      else reject(failure(request.status, request.responseText));
    };
    request.onerror = () => reject(new ApiError(0, UNREACHABLE));
    request.onabort = () => reject(new ApiError(0, { code: 'CANCELLED', message: 'The upload was stopped.' }));
    request.send(file);
  });
  return { job, cancel: () => request.abort() };
}
