/**
 * Requires a minimum rate for the body of a request. An upload may take any time in total, but a client that sends only
 * a few bytes now and then, to keep its connection open, is disconnected. Only the time in which the server reads the
 * body counts.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { sendProblem } from './problem.ts';

export type BodyRate = {
  readonly windowMs: number;
  /** How many bytes must arrive in each window, unless the body ends. */
  readonly bytesMin: number;
};

export function requireBodyRate(
  request: IncomingMessage,
  response: ServerResponse,
  rate: BodyRate,
  { lingerMs, send }: { readonly lingerMs: number; readonly send: typeof sendProblem },
): void {
  const { 'transfer-encoding': transfer, 'content-length': length } = request.headers;
  if (transfer === undefined && (length === undefined || length === '0')) return;
  const { socket } = request;
  let before = socket.bytesRead;
  const timer = setInterval(() => {
    const isServerSlow = request.readableLength >= request.readableHighWaterMark;
    if (isServerSlow || socket.bytesRead - before >= rate.bytesMin) {
      before = socket.bytesRead;
      return;
    }
    clearInterval(timer);
    send(request, response, {
      status: 408,
      code: 'TOO_SLOW',
      message: 'the request took too long to arrive',
      advice: `Send at least ${rate.bytesMin} bytes in ${rate.windowMs / 1000} seconds.`,
      fields: { connection: 'close' },
    });
    socket.setTimeout(lingerMs, () => socket.destroy());
  }, rate.windowMs);
  timer.unref();
  const end = () => clearInterval(timer);
  request.once('end', end).once('close', end);
}
