import { test } from 'node:test';
import { noPostgres } from './cluster-sample.ts';
import { ClusterTrial } from './cluster-trial.ts';

test('a cluster whose machines fail loses nothing and brings nothing back', { skip: noPostgres }, async (t) => {
  const seed = Math.floor(Math.random() * 1e9);
  t.diagnostic(`seed ${seed}`);
  await ClusterTrial.run({ captures: 400, events: 5, seed });
});
