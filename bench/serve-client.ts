/** The client of the bench, in a separate process: reads the requests to send, and prints the replies per second. */
import autocannon from 'autocannon';

type Order = { address: string; paths: string[]; seconds: number; connections: number };

let text = '';
for await (const piece of process.stdin) text += piece;
const { address, paths, seconds, connections } = JSON.parse(text) as Order;
const result = await autocannon({
  url: address,
  connections,
  duration: seconds,
  // [<id>] in a path is replaced by a different text for each request.
  idReplacement: paths.some((path) => path.includes('[<id>]')),
  requests: paths.map((path) => ({ method: 'GET' as const, path })),
});
const errors = result.errors + result.timeouts + result['5xx'];
process.stdout.write(`${JSON.stringify({ perSecond: result.requests.average, errors })}\n`);
process.exit(0);
