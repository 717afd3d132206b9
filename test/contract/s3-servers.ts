/**
 * Real S3 servers for the tests of one file, each with a bucket `archive`. A test takes a prefix of its own.
 *
 * - The volume server of Pinakes, as a process of its own, is always there. It syncs before it answers.
 * - versitygw is a program in Go, the judge that keeps every condition. It is used where it is found: on PATH, in
 *   GOPATH/bin, or where `PINAKES_VERSITYGW` says.
 * - s3rver runs in this process. It ignores conditions, verifies no checksums and does not put objects at once, so it
 *   stands for the weakest servers.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import type { S3Credentials } from '../../src/volume/index.ts';
import { startVolumeServerProcess } from '../volume-server/volume-server-process.ts';

export type S3Server = {
  readonly title: string;
  readonly endpoint: string;
  readonly credentials: S3Credentials;
  /** The process of the server; undefined when it runs in this one. */
  readonly process?: ChildProcess | undefined;
  close(): Promise<void>;
};

export const BUCKET = 'archive';

/** A client beside the volume, for what tests do behind its back. */
export function clientOf({ endpoint, credentials }: Pick<S3Server, 'endpoint' | 'credentials'>): S3Client {
  return new S3Client({ endpoint, credentials, region: 'us-east-1', forcePathStyle: true });
}

function versitygwPath(): string | undefined {
  const places = [
    process.env.PINAKES_VERSITYGW,
    ...(process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, 'versitygw')),
    process.env.GOBIN && join(process.env.GOBIN, 'versitygw'),
    join(process.env.GOPATH || join(homedir(), 'go'), 'bin', 'versitygw'),
  ];
  return places.find((path) => path !== undefined && path !== '' && existsSync(path));
}

/** Says why versitygw cannot be used here; false where it can. The value of the option `skip` of a test. */
export const noVersitygw: string | false = versitygwPath()
  ? false
  : 'versitygw is not there: `go install github.com/versity/versitygw/cmd/versitygw@v1.8.0` installs it';

export async function startVolumeServer(): Promise<S3Server> {
  const server = await startVolumeServerProcess();
  const { accessKeyId, secretAccessKey } = server;
  return {
    title: 'the volume server',
    endpoint: server.endpoint,
    credentials: { accessKeyId, secretAccessKey },
    process: server.child,
    close: () => server[Symbol.asyncDispose](),
  };
}

export async function startVersitygw({ versions = false } = {}): Promise<S3Server> {
  const directory = mkdtempSync(join(tmpdir(), 'pinakes-versitygw-'));
  for (const folder of ['data', 'notes', 'versions']) mkdirSync(join(directory, folder));
  const port = await freePort();
  const credentials = { accessKeyId: 'tester', secretAccessKey: 'secret of the tester' };
  const { accessKeyId, secretAccessKey } = credentials;
  const child = spawn(
    versitygwPath()!,
    [
      ...[
        '--access',
        accessKeyId,
        '--secret',
        secretAccessKey,
        '--port',
        `127.0.0.1:${port}`,
        '--quiet',
        '--keep-alive',
      ],
      'posix',
      ...(versions ? ['--versioning-dir', join(directory, 'versions')] : []),
      join(directory, 'data'),
    ],
    { stdio: 'ignore' },
  );
  await listening(port);
  const server: S3Server = {
    title: 'versitygw',
    endpoint: `http://127.0.0.1:${port}`,
    credentials,
    process: child,
    close: async () => {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill('SIGKILL');
        await once(child, 'exit');
      }
      rmSync(directory, { recursive: true });
    },
  };
  await makeBucket(server);
  return server;
}

type S3rver = {
  run(): Promise<{ port: number }>;
  close(): Promise<void>;
};

export async function startS3rver(): Promise<S3Server> {
  const directory = mkdtempSync(join(tmpdir(), 'pinakes-s3rver-'));
  const { default: Server } = (await import('@20minutes/s3rver' as string)) as {
    default: new (options: object) => S3rver;
  };
  const s3rver = new Server({
    address: '127.0.0.1',
    port: 0,
    silent: true,
    // It computes signatures of some queries wrong.
    allowMismatchedSignatures: true,
    directory,
    configureBuckets: [{ name: BUCKET }],
  });
  const { port } = await s3rver.run();
  return {
    title: 's3rver',
    endpoint: `http://127.0.0.1:${port}`,
    credentials: { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' },
    close: async () => {
      await s3rver.close();
      rmSync(directory, { recursive: true });
    },
  };
}

async function makeBucket(server: S3Server): Promise<void> {
  const client = clientOf(server);
  await client.send(new CreateBucketCommand({ Bucket: BUCKET }));
  client.destroy();
}

/** A port that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

async function listening(port: number): Promise<void> {
  for (let tries = 0; tries < 500; tries++) {
    const socket = connect(port, '127.0.0.1');
    const isThere = await new Promise<boolean>((resolve) => {
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    });
    socket.destroy();
    if (isThere) return;
    await delay(20);
  }
  throw new Error(`nothing listens on port ${port}`);
}
