/**
 * A WebSocket that fails like one without a network.
 *
 * Wombat's WebSocket pretends to be open, and pages wait for messages that never come. The browser's own WebSocket
 * fails, because the policy of replay allows no connection. But some browsers then send `error` without `close`. If
 * replay is served by HTTPS, a `ws:` URL would also throw in the script.
 */
export function failingWebSocket(Socket: typeof WebSocket): typeof WebSocket {
  return new Proxy(Socket, {
    construct(made, values, target) {
      const all = Array.from(values);
      if (all.length > 0) all[0] = String(all[0]).replace(/^\s*ws:/i, 'wss:');
      const socket: WebSocket = Reflect.construct(made, all, target);
      let isClosed = false;
      socket.addEventListener('close', () => {
        isClosed = true;
      });
      socket.addEventListener('error', () => {
        setTimeout(() => isClosed || socket.dispatchEvent(new CloseEvent('close', { code: 1006 })));
      });
      return socket;
    },
  });
}
