/** The origins of the two sockets. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { HostCheck } from './host-check.ts';
import { Origins } from './origins.ts';

const EVERYWHERE = { host: '0.0.0.0' };
const hosts = new HostCheck({ host: '0.0.0.0', origins: [] });

test('origins are written as browsers write them, without the default port', () => {
  const origins = new Origins(EVERYWHERE, { ui: 8080, replay: 80 });
  assert.equal(origins.own.replayOrigin, 'http://localhost');
  assert.deepEqual(origins.for('192.0.2.7:8080', hosts), {
    uiOrigin: 'http://192.0.2.7:8080',
    replayOrigin: 'http://192.0.2.7',
  });
});
