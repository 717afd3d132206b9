/** The volume server under foreign clients: boto3 and rclone, where they are installed. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { startVolumeServerProcess } from './volume-server-process.ts';

const PYTHON = process.env.PYTHON ?? 'python3';
const RCLONE = process.env.RCLONE ?? 'rclone';
const hasBoto3 = spawnSync(PYTHON, ['-c', 'import boto3']).status === 0;
const hasRclone = spawnSync(RCLONE, ['version']).status === 0;

async function run(program: string, args: readonly string[], env: Readonly<Record<string, string>>): Promise<string> {
  const child = spawn(program, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  let [out, err] = ['', ''];
  child.stdout.on('data', (piece) => (out += piece));
  child.stderr.on('data', (piece) => (err += piece));
  const [code] = await once(child, 'close');
  assert.equal(code, 0, `${program} ${args.join(' ')}\n${out}\n${err}`);
  return out;
}

test('boto3 finds every answer as S3 gives it', { skip: !hasBoto3 && 'python3 with boto3 is not there' }, async (t) => {
  await using server = await startVolumeServerProcess();
  const { endpoint, bucket, accessKeyId, secretAccessKey } = server;
  const script = join(import.meta.dirname, 'boto3-checks.py');
  const env = { AWS_SECRET_ACCESS_KEY: secretAccessKey, LIST_KEYS: process.env.LIST_KEYS ?? '1100' };
  const lines = (await run(PYTHON, [script, endpoint, bucket, accessKeyId], env)).trim().split('\n');
  const outcomes = lines.map((line) => JSON.parse(line) as { check: string; failure: string | null });
  t.diagnostic(`${outcomes.length} checks`);
  assert.ok(outcomes.length > 20);
  assert.deepEqual(
    outcomes.filter(({ failure }) => failure !== null),
    [],
  );
  assert.equal(server.said(), '');
});

test('rclone copies a tree there and back', { skip: !hasRclone && 'rclone is not there' }, async () => {
  await using server = await startVolumeServerProcess();
  const parent = await mkdtemp(join(tmpdir(), 'pinakes-rclone-'));
  try {
    const [here, back] = ['here', 'back'].map((name) => join(parent, name)) as [string, string];
    for (const folder of ['', 'a', 'a/b', 'a b', '\u00e4']) await mkdir(join(here, folder), { recursive: true });
    const files = ['one.warc.gz', 'a/two', 'a/b/three', 'a b/four+4', '\u00e4/f\u00fcnf', 'a/empty'];
    for (const [at, file] of files.entries()) await writeFile(join(here, file), 'x'.repeat(at * 4 * 1024 * 1024));
    const env = {
      RCLONE_CONFIG: join(parent, 'none.conf'),
      RCLONE_CONFIG_THERE_TYPE: 's3',
      RCLONE_CONFIG_THERE_PROVIDER: 'Other',
      RCLONE_CONFIG_THERE_ENDPOINT: server.endpoint,
      RCLONE_CONFIG_THERE_ACCESS_KEY_ID: server.accessKeyId,
      RCLONE_CONFIG_THERE_SECRET_ACCESS_KEY: server.secretAccessKey,
      RCLONE_S3_UPLOAD_CUTOFF: '6M',
      RCLONE_RETRIES: '1',
    };
    const there = `there:${server.bucket}/tree`;
    await run(RCLONE, ['sync', here, there], env);
    await run(RCLONE, ['check', here, there], env);
    await run(RCLONE, ['sync', there, back], env);
    await run(RCLONE, ['check', '--download', here, there], env);
    await run(RCLONE, ['check', here, back], env);
    await rm(join(here, 'a'), { recursive: true });
    await run(RCLONE, ['sync', here, there], env);
    assert.equal((await run(RCLONE, ['lsf', '-R', '--files-only', there], env)).trim().split('\n').length, 3);
    assert.equal(server.said(), '');
  } finally {
    await rm(parent, { recursive: true, force: true });
  }
});
