import assert from 'node:assert/strict';
import test from 'node:test';
import { programName } from './program-name.ts';

test('the program name can be typed as shown: after installation, in a checkout, by a path, and from the PATH', () => {
  assert.equal(programName({}), 'pinakes');
  assert.equal(programName({ npm_lifecycle_event: 'start' }), './pinakes');
  assert.equal(programName({ npm_lifecycle_event: 'test' }), 'pinakes');
  assert.equal(programName({ PINAKES_PROGRAM: './pinakes' }), './pinakes');
  assert.equal(programName({ PINAKES_PROGRAM: '../my archive/pinakes' }), "'../my archive/pinakes'");
  assert.equal(programName({ PINAKES_PROGRAM: '/opt/tools/pinakes', PATH: '/bin:/opt/tools' }), 'pinakes');
});
