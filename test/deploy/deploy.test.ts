/** The files under deploy/ agree with the program, with each other and with docs/cluster.md. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { before, suite, test } from 'node:test';
import { parse } from 'yaml';
import { pinakes } from '../journeys/pinakes-runner.ts';
import { ask, makeServer } from '../server/trial-server.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const DEPLOY = join(ROOT, 'deploy');
const textOf = (name: string) => readFileSync(join(DEPLOY, name), 'utf8');

type Service = {
  readonly image: string;
  readonly command?: readonly string[];
  readonly volumes?: readonly string[];
  readonly networks?: readonly string[];
  readonly depends_on?: readonly string[] | Readonly<Record<string, unknown>>;
  readonly ports?: readonly string[];
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly stop_grace_period?: string;
};

type Compose = {
  readonly services: Readonly<Record<string, Service>>;
  readonly networks: Readonly<Record<string, { readonly ipam: { readonly config: readonly { subnet: string }[] } }>>;
  readonly volumes: Readonly<Record<string, null>>;
};

const compose = parse(textOf('compose.yaml'), { merge: true }) as Compose;
const services = Object.entries(compose.services);
const ours = services.filter(([, { image }]) => image === 'pinakes');
const servers = ours.filter(([, { command = [] }]) => command[0] === 'serve');

/** The value of an option that is typed as `--name=value` or `--name value`. */
function optionValue(words: readonly string[], option: string): string | undefined {
  const at = words.findIndex((word) => word === option || word.startsWith(`${option}=`));
  return words[at]?.includes('=') ? words[at].slice(option.length + 1) : words[at + 1];
}

suite('deploy', () => {
  const optionsOf = new Map<string, { options: Set<string>; help: string }>();

  before(async () => {
    for (const verb of ['serve', 'volume serve']) {
      const help = (await pinakes(ROOT, ...verb.split(' '), '--help')).out;
      const options = new Set(Array.from(help.matchAll(/^ {2}(?:-\w, )?(--[\w-]+)/gm), ([, name]) => name!));
      optionsOf.set(verb, { options, help });
    }
  });

  const checkCommand = (where: string, words: readonly string[]) => {
    const verb = words[0] === 'volume' ? 'volume serve' : 'serve';
    assert.equal(words.slice(0, verb.split(' ').length).join(' '), verb, where);
    for (const word of words.filter((one) => one.startsWith('-'))) {
      const option = word.split('=')[0]!;
      assert.ok(optionsOf.get(verb)!.options.has(option), `${where}: pinakes ${verb} has no ${option}`);
    }
  };

  const unitWords = (unit: string) => {
    const [, line] = /^ExecStart=\/usr\/bin\/pinakes ((?:.*\\\n)*.*)$/m.exec(unit)!;
    return line!.replaceAll('\\\n', ' ').trim().split(/\s+/);
  };

  test('the program has every option that the containers and units give it', () => {
    assert.ok(servers.length === 4 && ours.length === 5);
    for (const [name, { command = [] }] of ours) checkCommand(name, command);
    for (const name of readdirSync(join(DEPLOY, 'systemd')))
      checkCommand(name, unitWords(textOf(join('systemd', name))));
    const [, command] = /^CMD (\[.*\])$/m.exec(textOf('Dockerfile'))!;
    checkCommand('Dockerfile', JSON.parse(command!) as string[]);
  });

  test('servers get longer to leave than they give their work', () => {
    for (const [name, { command = [], stop_grace_period: grace = '' }] of servers)
      assert.ok(Number.parseInt(grace, 10) > Number(optionValue(command, '--leave-seconds')), name);
    const unit = textOf('systemd/pinakes.service');
    const [, patience] = /^TimeoutStopSec=(\d+)$/m.exec(unit)!;
    assert.ok(Number(patience) > Number(optionValue(unitWords(unit), '--leave-seconds')));
  });

  test('what the compose file names exists in it, and everything is used', () => {
    const named = services.flatMap(([, { volumes = [] }]) => volumes.map((volume) => volume.split(':')[0]!));
    const [files, volumes] = [named.filter((name) => /^[./]/.test(name)), named.filter((name) => !/^[./]/.test(name))];
    assert.deepEqual(volumes.sort(), Object.keys(compose.volumes).sort());
    for (const file of files) assert.ok(existsSync(join(DEPLOY, file)), file);
    for (const [name, { depends_on: others = [], networks = [] }] of services) {
      for (const other of Array.isArray(others) ? (others as string[]) : Object.keys(others))
        assert.ok(compose.services[other], `${name} depends on ${other}`);
      for (const network of networks) assert.ok(compose.networks[network], `${name} is in ${network}`);
    }
    const used = new Set(Array.from(textOf('compose.yaml').matchAll(/\$\{(\w+)/g), ([, variable]) => variable!));
    const given = Array.from(textOf('example.env').matchAll(/^(\w+)=/gm), ([, variable]) => variable!);
    assert.deepEqual([...used].sort(), given.sort());
  });

  test('the containers of the program have no rights that they do not need', () => {
    for (const [name, service] of ours) {
      assert.equal(service.read_only, true, name);
      assert.deepEqual(service.cap_drop, ['ALL'], name);
      assert.deepEqual(service.security_opt, ['no-new-privileges:true'], name);
      assert.equal(service.ports, undefined, `${name} is reached through the proxy alone`);
    }
    assert.match(textOf('Dockerfile'), /^USER 10001:10001$/m);
  });

  test('proxy, servers and image agree on ports, names and networks', () => {
    const nginx = textOf('nginx.conf');
    const upstream = (name: string) => {
      const [, block] = new RegExp(`upstream ${name} \\{(.*?)\\}`, 's').exec(nginx)!;
      return Array.from(block!.matchAll(/server ([\w-]+):(\d+)/g), ([, host, port]) => [host!, port!] as const);
    };
    const command = servers[0]![1].command!;
    const { ipam } = compose.networks.inside!;
    assert.equal(optionValue(command, '--proxy'), ipam.config[0]!.subnet);
    for (const [name, option] of [
      ['pinakes_readers', '--port'],
      ['pinakes_writers', '--port'],
      ['pinakes_replay', '--replay-port'],
    ] as const)
      for (const [host, port] of upstream(name)) {
        assert.ok(
          servers.some(([server]) => server === host),
          host,
        );
        assert.equal(port, optionValue(command, option), `${name} ${host}`);
      }
    const reached = ['pinakes_readers', 'pinakes_writers'].flatMap((name) => upstream(name).map(([host]) => host));
    assert.deepEqual(reached.sort(), servers.map(([name]) => name).sort(), 'every server is behind the proxy');
    const [published] = compose.services.proxy!.ports!;
    const [, , port] = published!.split(':');
    const listened = Array.from(nginx.matchAll(/listen (\d+);\n\s+server_name ([\w.]+);/g), ([, at, name]) => [
      at,
      name,
    ]);
    const origins = ['--ui-origin', '--replay-origin'].map((option) => new URL(optionValue(command, option)!));
    assert.deepEqual(
      listened,
      origins.map(({ hostname, port: at }) => [at, hostname]),
    );
    assert.ok(listened.every(([at]) => at === port));

    const dockerfile = textOf('Dockerfile');
    const [, exposed] = /^EXPOSE (.*)$/m.exec(dockerfile)!;
    const presets = [...optionsOf.values()].flatMap(({ help }) =>
      Array.from(
        help.replace(/\s+/g, ' ').matchAll(/\(default: "(?:[\d.]+:)?(8\d{3}|9\d{3})"\)/g),
        ([, preset]) => preset!,
      ),
    );
    assert.deepEqual(exposed!.split(' ').sort(), presets.sort());
    const { engines } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { engines: { node: string } };
    for (const [, major] of dockerfile.matchAll(/^FROM node:(\d+)/gm)) assert.equal(`>=${major}`, engines.node);
    for (const [, sources] of dockerfile.matchAll(/^COPY (?!--from)(.*) \S+$/gm))
      for (const source of sources!.split(' ')) assert.ok(existsSync(join(ROOT, source)), source);
  });

  test('each unit may write where its command writes', () => {
    const serve = textOf('systemd/pinakes.service');
    const [, state] = /^StateDirectory=(.*)$/m.exec(serve)!;
    assert.ok(optionValue(unitWords(serve), '--archive')!.startsWith(`/var/lib/${state}/`));
    const volume = textOf('systemd/pinakes-volume.service');
    const [, writable] = /^ReadWritePaths=(.*)$/m.exec(volume)!;
    assert.equal(unitWords(volume)[2], writable);
    for (const unit of [serve, volume])
      for (const line of ['NoNewPrivileges=yes', 'ProtectSystem=strict', 'CapabilityBoundingSet=', 'UMask=0077'])
        assert.match(unit, new RegExp(`^${line}$`, 'm'));
  });

  test('alerts use figures that a server has, and the documentation explains each', async (t) => {
    const { server } = await makeServer(t);
    const { text } = await ask(server.uiAddress, '/metrics');
    const rules = (
      parse(textOf('alerts.yaml')) as { groups: { rules: { alert: string; expr: string }[] }[] }
    ).groups.flatMap((group) => group.rules);
    const page = readFileSync(join(ROOT, 'docs/cluster.md'), 'utf8');
    for (const { alert, expr } of rules) {
      assert.ok(page.includes(`| \`${alert}\` |`), `docs/cluster.md says nothing of ${alert}`);
      for (const [name] of expr.matchAll(/pinakes_\w+/g)) {
        const base = name.replace(/_(?:bucket|count|sum)$/, '');
        assert.ok(text.includes(`# TYPE ${base} `), `${alert}: there is no figure ${name}`);
      }
    }
    const told = Array.from(page.matchAll(/^\| `(Pinakes\w+)` \|/gm), ([, alert]) => alert!);
    assert.deepEqual(
      told,
      rules.map(({ alert }) => alert),
    );
  });
});
