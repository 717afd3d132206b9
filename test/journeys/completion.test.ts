import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { dirname } from 'node:path';
import { test } from 'node:test';
import { pinakes } from './pinakes-desk.ts';
import { LAUNCHER, linesOf } from './pinakes-process.ts';
import { scratch } from './warc-sample.ts';

const env = { ...process.env, PATH: `${dirname(LAUNCHER)}:${process.env.PATH}` };
const hasShell = (name: string) => spawnSync(name, ['--version']).error === undefined;

/** What bash would offer for the last word, after it has read the script that the program prints. */
function offeredByBash(cwd: string, ...words: string[]): string[] {
  const script = `source <(pinakes completion bash) && COMP_WORDS=(pinakes "$@") && COMP_CWORD=$# &&
    _pinakes && for word in "\${COMPREPLY[@]}"; do printf '%s\\n' "$word"; done`;
  const { status, stdout, stderr } = spawnSync('bash', ['-c', script, 'bash', ...words], { cwd, env });
  assert.deepEqual([status, stderr.toString()], [0, '']);
  return linesOf(stdout.toString());
}

test('bash completes commands, options and values as the program has them', { skip: !hasShell('bash') }, async (t) => {
  const at = scratch(t);
  const help = (await pinakes(at, '--help')).out;
  const commands = Array.from(help.split('\nCommands:\n')[1]!.matchAll(/^ {2}([a-z]+)/gm), ([, name]) => name!);
  assert.ok(commands.includes('crawl') && commands.includes('completion'));
  assert.deepEqual(offeredByBash(at, ''), commands);
  const crawlHelp = (await pinakes(at, 'crawl', '--help')).out;
  const options = Array.from(crawlHelp.matchAll(/^ {2}(?:-\w, )?(--[\w-]+)/gm), ([, name]) => name!);
  assert.deepEqual(offeredByBash(at, 'crawl', 'http://a.test/', '-').sort(), options.sort());

  const offered: [string[], string[]][] = [
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
  for (const [words, expected] of offered) assert.deepEqual(offeredByBash(at, ...words), expected, words.join(' '));
});

test('bash is left to offer files where the program has nothing to offer', { skip: !hasShell('bash') }, (t) => {
  const at = scratch(t);
  for (const words of [
    ['add', ''],
    ['warc', 'ls', 'a.warc.gz', ''],
    ['export', '--archive', ''],
    ['search', '--', '-'],
    ['warc', 'convert', '--out', 'wa'],
  ])
    assert.deepEqual(offeredByBash(at, ...words), [], words.join(' '));
});

for (const shell of ['zsh', 'fish'])
  test(`${shell} takes its script`, { skip: !hasShell(shell) && `${shell} is not installed` }, async (t) => {
    const { out } = await pinakes(scratch(t), 'completion', shell);
    const { status, stderr } = spawnSync(shell, ['-n'], { input: out });
    assert.deepEqual([status, stderr.toString()], [0, '']);
  });

test('words come whole for shells that do not cut them at an equals sign', async (t) => {
  const { out } = await pinakes(scratch(t), 'complete-words', '--', 'crawl', '--robots=o');
  assert.equal(out, '--robots=obey\t\n');
});

test('a shell that is not known is refused with those that are', async (t) => {
  const { code, err } = await pinakes(scratch(t), 'completion', 'tcsh');
  assert.equal(code, 2);
  assert.match(err, /tcsh.*bash, zsh, fish/);
});
