import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { suite, test } from 'node:test';
import { pinakes } from './pinakes-process.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const OPTION = /(?<![\w-])--[a-z][a-z-]*/g;

const pages = ['README.md', ...readdirSync(join(ROOT, 'docs')).map((name) => join('docs', name))];
const texts = new Map(pages.map((page) => [page, readFileSync(join(ROOT, page), 'utf8')]));

/** The options of every command that does something, by what is typed for it, as its help lists them. */
function optionsByCommand(words: readonly string[] = []): Map<string, Set<string>> {
  const help = pinakes(ROOT, ...words, '--help').out;
  const [options, commands] = help.slice(help.indexOf('\nOptions:')).split('\nCommands:');
  if (commands === undefined)
    return new Map([
      [words.join(' '), new Set(Array.from(options!.matchAll(/^ {2}(?:-\w, )?(--[\w-]+)/gm), ([, name]) => name!))],
    ]);
  const names = Array.from(commands.matchAll(/^ {2}([a-z]+)\b/gm), ([, name]) => name!).filter(
    (name) => name !== 'help',
  );
  return new Map(names.flatMap((name) => [...optionsByCommand([...words, name])]));
}

/** What a page shows to be typed, each command on one line. */
function typed(text: string): string[] {
  const blocks = Array.from(text.matchAll(/^```(?:sh|console)?\n(.*?)^```$/gms), ([, block]) =>
    block!.split('\n'),
  ).flat();
  const commands = blocks.map((line) => /^(?:\$ )?(?:\.\/)?pinakes (.*)$/.exec(line)?.[1]);
  return commands.filter((command) => command !== undefined).map((command) => command.replace(/ +#.*$/, ''));
}

suite('documentation', () => {
  const known = optionsByCommand();

  test('every option of every command is told of on some page', () => {
    const told = new Set(Array.from(texts.values(), (text) => text.match(OPTION) ?? []).flat());
    const untold = [...known].flatMap(([command, options]) =>
      [...options].filter((option) => option !== '--help' && !told.has(option)).map((option) => `${command} ${option}`),
    );
    assert.deepEqual(untold, []);
  });

  test('every command that a page shows exists, with the options it is shown with', () => {
    for (const [page, text] of texts) {
      for (const command of typed(text)) {
        const words = command.split(' ');
        const options = known.get(words.slice(0, 2).join(' ')) ?? known.get(words[0]!);
        assert.ok(options, `${page}: ${command}`);
        for (const option of command.match(OPTION) ?? []) assert.ok(options.has(option), `${page}: ${command}`);
      }
    }
  });
});
