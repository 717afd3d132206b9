import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { before, suite, test } from 'node:test';
import { pinakes } from './pinakes-runner.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const OPTION = /(?<![\w-])--[a-z][\w-]*/g;

const pages = ['README.md', ...readdirSync(join(ROOT, 'docs')).map((name) => join('docs', name))];
const texts = new Map(pages.map((page) => [page, readFileSync(join(ROOT, page), 'utf8')]));

/** The options in the help of every command without subcommands, by the words of the command. */
async function optionsByCommand(...words: string[]): Promise<Map<string, Set<string>>> {
  const help = (await pinakes(ROOT, ...words, '--help')).out;
  const [options, commands] = help.slice(help.indexOf('\nOptions:')).split('\nCommands:');
  const named = (text: string, name: RegExp) => Array.from(text.matchAll(name), ([, found]) => found!);
  if (commands === undefined)
    return new Map([[words.join(' '), new Set(named(options!, /^ {2}(?:-\w, )?(--[\w-]+)/gm))]]);
  const known = new Map<string, Set<string>>();
  for (const name of named(commands, /^ {2}([a-z-]+)/gm).filter((command) => command !== 'help'))
    for (const [command, its] of await optionsByCommand(...words, name)) known.set(command, its);
  return known;
}

/** The commands that a page shows, each on one line, without pipes, redirections and comments. */
function typed(text: string): string[] {
  const blocks = Array.from(text.matchAll(/^```(\w*)\n(.*?)^```$/gms), ([, language, block]) =>
    ['', 'sh', 'console'].includes(language!) ? block!.split('\n') : [],
  ).flat();
  const commands = blocks.map((line) => /^(?:\$ )?(?:\.\/)?pinakes (.*)$/.exec(line)?.[1]);
  return commands
    .filter((command) => command !== undefined)
    .map((command) => command.replace(/ +(?:[#|>;]|&&).*$/, ''));
}

suite('documentation', () => {
  let known: Map<string, Set<string>>;

  before(async () => {
    known = await optionsByCommand();
  });

  test('every option of every command is described on a page', () => {
    const told = new Set(Array.from(texts.values(), (text) => text.match(OPTION) ?? []).flat());
    const untold = [...known].flatMap(([command, options]) =>
      [...options].filter((option) => option !== '--help' && !told.has(option)).map((option) => `${command} ${option}`),
    );
    assert.ok(untold.length === 0, `README.md or a page in docs/ has to say what these are for: ${untold.join(', ')}`);
  });

  test('every command that a page shows exists, with the shown options', () => {
    for (const [page, text] of texts) {
      for (const command of typed(text)) {
        const words = command.split(' ');
        const options = [3, 2, 1].map((length) => known.get(words.slice(0, length).join(' '))).find((found) => found);
        assert.ok(options, `${page} shows \`pinakes ${command}\`, and there is no such command`);
        for (const option of command.match(OPTION) ?? [])
          assert.ok(options.has(option), `${page} shows \`pinakes ${command}\`, whose --help has no ${option}`);
      }
    }
  });
});
