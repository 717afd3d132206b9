import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { LAUNCHER, linesOf } from './pinakes-process.ts';
import { pinakes } from './pinakes-runner.ts';
import { scratch } from './warc-sample.ts';

const noShell = (name: string) => spawnSync(name, ['--version']).error !== undefined && `${name} is not installed`;

/** The words that bash offers for the last word, with the script that the program prints. */
function offeredByBash(cwd: string, ...words: string[]): string[] {
  const script = `source <(pinakes completion bash) && COMP_WORDS=("$@") && COMP_CWORD=$(($# - 1)) &&
    _pinakes && for word in "\${COMPREPLY[@]}"; do printf '%s\\n' "$word"; done`;
  return offered(cwd, 'bash', '-c', script, 'bash', ...words);
}

/** The words that the script passes to the completion system of zsh, which itself needs a terminal. */
function offeredByZsh(cwd: string, ...words: string[]): string[] {
  const script = `compdef() { } ; compset() { } ; _files() { print files } ; _describe() { print -rl -- "\${(@P)2}" }
    source <(pinakes completion zsh) && words=("$@") && CURRENT=$# && _pinakes`;
  return offered(cwd, 'zsh', '-f', '-c', script, 'zsh', ...words);
}

/** The words that fish offers for a line. */
function offeredByFish(cwd: string, line: string): string[] {
  return offered(cwd, 'fish', '--no-config', '-c', 'pinakes completion fish | source; complete -C $argv[1]', line);
}

function offered(cwd: string, shell: string, ...words: string[]): string[] {
  const env = { ...process.env, HOME: cwd, PATH: `${dirname(LAUNCHER)}:${process.env.PATH}` };
  const { status, stdout, stderr } = spawnSync(shell, words, { cwd, env });
  assert.deepEqual([status, stderr.toString()], [0, '']);
  return linesOf(stdout.toString());
}

test('bash completes the commands, options and values of the program', { skip: noShell('bash') }, async (t) => {
  const at = scratch(t);
  const help = (await pinakes(at, '--help')).out;
  const commands = Array.from(help.split('\nCommands:\n')[1]!.matchAll(/^ {2}([a-z]+)/gm), ([, name]) => name!);
  assert.ok(commands.includes('crawl') && commands.includes('completion'));
  assert.deepEqual(offeredByBash(at, 'pinakes', ''), commands);
  const crawlHelp = (await pinakes(at, 'crawl', '--help')).out;
  const options = Array.from(crawlHelp.matchAll(/^ {2}(?:-\w, )?(--[\w-]+)/gm), ([, name]) => name!);
  assert.deepEqual(offeredByBash(at, 'pinakes', 'crawl', 'http://a.test/', '-').sort(), options.sort());

  const expectations: [string[], string[]][] = [
    [['wa'], ['warc']],
    [
      ['warc', 'c'],
      ['cat', 'check', 'convert'],
    ],
    [
      ['warc', 'index', '--format', ''],
      ['cdxj', 'cdx11', 'cdx9'],
    ],
    [['warc', 'convert', '--out', 'x', '--to', 'warc.z'], ['warc.zst']],
    [
      ['search', '--sort', '=', 'r'],
      ['relevance', 'rank'],
    ],
    [['crawl', '--browser', 'e'], ['empty']],
    [['crawl', '--browser', '--sco'], ['--scope']],
    [
      ['help', 'snapshot', ''],
      ['create', 'ls', 'rm', 'help'],
    ],
    [
      ['completion', ''],
      ['bash', 'zsh', 'fish'],
    ],
  ];
  for (const [words, expected] of expectations)
    assert.deepEqual(offeredByBash(at, 'pinakes', ...words), expected, words.join(' '));
});

test('bash calls a program below the home directory, without running any part of the typed line', {
  skip: noShell('bash'),
}, (t) => {
  const at = scratch(t);
  symlinkSync(LAUNCHER, join(at, 'pinakes'));
  const words = ['~/pinakes', 'crawl', '"$(touch run)"', '`touch run`', '--robots', ''];
  assert.deepEqual(offeredByBash(at, ...words), ['obey', 'ignore']);
  assert.ok(!existsSync(join(at, 'run')));
});

test('bash offers files where the program offers no words', { skip: noShell('bash') }, (t) => {
  const at = scratch(t);
  for (const words of [
    ['add', ''],
    ['warc', 'ls', 'a.warc.gz', ''],
    ['export', '--archive', ''],
    ['search', '--', '-'],
    ['warc', 'convert', '--out', 'wa'],
  ])
    assert.deepEqual(offeredByBash(at, 'pinakes', ...words), [], words.join(' '));
});

test('zsh completes as bash does, without running any part of the typed line', { skip: noShell('zsh') }, (t) => {
  const at = scratch(t);
  const about = /^cat:print one record\ncheck:[^\n]*\nconvert:[^\n]*$/;
  assert.match(offeredByZsh(at, 'pinakes', 'warc', 'c').join('\n'), about);
  assert.deepEqual(offeredByZsh(at, 'pinakes', 'export', '$(touch run)', '--format=cdxj'), ['--format=cdxj']);
  assert.deepEqual(offeredByZsh(at, 'pinakes', 'crawl', '"`touch run`"', '--robots', ''), ['obey', 'ignore']);
  assert.match(offeredByZsh(at, 'pinakes', 'crawl', '--browser-').join(), /^--browser-path:.*\\: PINAKES_BROWSER/);
  symlinkSync(LAUNCHER, join(at, 'pinakes'));
  assert.match(offeredByZsh(at, '~/pinakes', 'comp').join(), /^compact:.*,completion:/);
  writeFileSync(join(at, 'a b.warc'), '');
  assert.deepEqual(offeredByZsh(at, 'pinakes', 'add', 'a'), ['files']);
  assert.ok(!existsSync(join(at, 'run')));
});

test('fish completes as bash does, without running any part of the typed line', { skip: noShell('fish') }, (t) => {
  const at = scratch(t);
  assert.match(offeredByFish(at, 'pinakes warc c').join('\n'), /^cat\tprint one record\ncheck\t.*\nconvert\t.*$/);
  assert.deepEqual(offeredByFish(at, 'pinakes warc convert (touch run) --to=warc.z'), ['--to=warc.zst']);
  assert.deepEqual(offeredByFish(at, 'pinakes crawl "$(touch run)" --robots '), ['ignore', 'obey']);
  symlinkSync(LAUNCHER, join(at, 'pinakes'));
  assert.match(offeredByFish(at, '~/pinakes comp').join(), /^compact\t.*,completion\t/);
  assert.deepEqual(offeredByFish(at, '~/nowhere/pinakes comp'), []);
  writeFileSync(join(at, 'a $(b).warc'), '');
  for (const typed of ['a', 'a\\ \\$', '"a '])
    assert.deepEqual(offeredByFish(at, `pinakes add ${typed}`), ['a $(b).warc']);
  assert.deepEqual(offeredByFish(at, 'pinakes export --archive=a'), ['--archive=a $(b).warc']);
  assert.ok(!existsSync(join(at, 'run')));
});

test('a word with an equals sign is completed whole for shells that do not split it', async (t) => {
  const { out } = await pinakes(scratch(t), 'complete-words', '--', 'crawl', '--robots=o');
  assert.equal(out, '--robots=obey\n');
});

test('an unknown shell is refused with a list of the known shells', async (t) => {
  const { code, err } = await pinakes(scratch(t), 'completion', 'tcsh');
  assert.equal(code, 2);
  assert.match(err, /tcsh.*bash, zsh, fish/);
});
