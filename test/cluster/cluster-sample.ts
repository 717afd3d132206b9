/** A cluster for tests: a real PostgreSQL, a volume server as a process of its own, and directories of machines. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Archive, type ArchiveOptions, createArchive, openArchive } from '../../src/archive/index.ts';
import { seededIds, seededRandom } from '../../src/base/index.ts';
import { PostgresServer } from '../contract/postgres-server.ts';
import { startVolumeServerProcess, type VolumeServerProcess } from '../volume-server/volume-server-process.ts';

export { noPostgres } from '../contract/postgres-server.ts';

/** Short enough that a test can wait for the end of a lease. */
export const SHORT_TIMES = { leaseLifeMs: 1500, graceMs: 0, tickMs: 100 } as const;

export class TestCluster {
  readonly postgres: PostgresServer;
  readonly volumes: VolumeServerProcess;
  readonly #root: string;
  #machines = 0;
  #archives = 0;

  private constructor(postgres: PostgresServer, volumes: VolumeServerProcess, root: string) {
    this.postgres = postgres;
    this.volumes = volumes;
    this.#root = root;
  }

  static async start(): Promise<TestCluster> {
    const [postgres, volumes, root] = await Promise.all([
      PostgresServer.start(),
      startVolumeServerProcess(),
      mkdtemp(join(tmpdir(), 'pinakes-cluster-')),
    ]);
    const { accessKeyId, secretAccessKey } = volumes;
    Object.assign(process.env, { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey });
    return new TestCluster(postgres, volumes, root);
  }

  /** The address of the catalog of a new archive. */
  newCatalog(): string {
    return `${this.postgres.url}?schema=archive_${++this.#archives}`;
  }

  /** The directory of another machine, joined to the archive of this catalog. */
  async machine(catalog: string): Promise<string> {
    const directory = join(this.#root, `machine-${++this.#machines}`);
    await createArchive(directory, { name: 'test', catalog: { address: catalog, newId: this.#ids() } });
    return directory;
  }

  /** An archive with one bucket, opened on one machine. */
  async archive(options: Partial<ArchiveOptions> = {}): Promise<{ catalog: string; archive: Archive }> {
    const catalog = this.newCatalog();
    const archive = await this.open(await this.machine(catalog), options);
    await archive.addVolume({ name: 'far', ...this.bucket(`archive-${this.#archives}`) });
    return { catalog, archive };
  }

  bucket(prefix: string): { path: string; endpoint: string; region: string } {
    const { bucket, endpoint } = this.volumes;
    return { path: `s3://${bucket}/${prefix}`, endpoint, region: 'us-east-1' };
  }

  open(directory: string, options: Partial<ArchiveOptions> = {}): Promise<Archive> {
    return openArchive(directory, {
      clock: Date.now,
      newId: this.#ids(),
      clusterTimes: SHORT_TIMES,
      purpose: 'test',
      ...options,
    });
  }

  #ids(): () => string {
    return seededIds(seededRandom(Math.floor(Math.random() * 2 ** 31)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.volumes[Symbol.asyncDispose]();
    await this.postgres.dispose();
    await rm(this.#root, { recursive: true, force: true });
  }
}
