/**
 * Watches that the body of a request keeps coming. Uploads take as long as they take, so there is no bound on the
 * whole; but a client that sends a byte now and then, to keep a connection from being silent, is let go. While we do
 * not take what has come, nobody is slow but ourselves.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { sendProblem } from './problem.ts';

export type BodyRate = {
  /** In each such time. */
  readonly windowMs: number;
  /** So many bytes come, or the rest. */
  readonly bytesMin: number;
};

export function watchBody(request: IncomingMessage, response: ServerResponse, delay: BodyRate, lingerMs: number): void {
  const { 'transfer-encoding': transfer, 'content-length': length } = request.headers;
  if (transfer === undefined && (length === undefined || length === '0')) return;
  const { socket } = request;
  let before = socket.bytesRead;
  const timer = setInterval(() => {
    const isOurs = request.readableLength >= request.readableHighWaterMark;
    if (isOurs || socket.bytesRead - before >= delay.bytesMin) {
      before = socket.bytesRead;
      return;
    }
    clearInterval(timer);
    sendProblem(request, response, {
      status: 408,
      code: 'TOO_SLOW',
      message: 'the request took too long to arrive',
      advice: `In ${delay.windowMs / 1000} seconds ${delay.bytesMin} bytes of it have to come.`,
      fields: { connection: 'close' },
    });
    socket.setTimeout(lingerMs, () => socket.destroy());
  }, delay.windowMs);
  timer.unref();
  const end = () => clearInterval(timer);
  request.once('end', end).once('close', end);
}
