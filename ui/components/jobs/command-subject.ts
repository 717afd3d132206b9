/** Finds the subject of a typed command in its arguments. Does not use the browser. */

/** Options without a value. For every other option the next word is the value. */
const FLAGS = new Set([
  '--allow-private',
  '--any-certificate',
  '--captures-only',
  '--due',
  '--fixed',
  '--force',
  '--fresh',
  '--full',
  '--html-only',
  '--in-place',
  '--json',
  '--quick',
  '--screenshots',
  '--self-contained',
  '--yes',
]);

/** Options whose value may be omitted. */
const OPTIONAL_VALUE = new Set(['--again', '--browser', '--resume']);

/** Options that name the subject of a command, the most specific first. */
const SUBJECT_OPTIONS = [
  '--again',
  '--resume',
  '--collection',
  '--url',
  '--prefix',
  '--query',
  '--key',
  '--mime',
  '--replay',
];

export type TypedCommand = {
  /** The arguments after the verb that do not belong to an option: files or addresses. */
  readonly named: readonly string[];
  /** The value of the most specific option, or ''. */
  readonly subject: string;
};

export function typedCommand(argv: readonly string[]): TypedCommand {
  const named: string[] = [];
  const options = new Map<string, string>();
  for (let at = 0; at < argv.length; at++) {
    const word = argv[at]!;
    const [, option, joined] = /^(--[a-z-]+)(?:=(.*))?$/s.exec(word) ?? [];
    if (word !== '-' && word.startsWith('-') && option === undefined) at++;
    else if (option === undefined) named.push(word);
    else if (joined !== undefined) options.set(option, joined);
    else if (!FLAGS.has(option) && !option.startsWith('--no-')) {
      const next = argv[at + 1];
      if (next === undefined || (OPTIONAL_VALUE.has(option) && next.startsWith('-'))) continue;
      options.set(option, next);
      at++;
    }
  }
  const subject = SUBJECT_OPTIONS.map((option) => options.get(option)).find((value) => value !== undefined);
  return { named: named.slice(1), subject: subject ?? (argv.includes('--due') ? 'due crawls' : '') };
}

/** The arguments after the name of the program, quoted so that they can be pasted into a terminal. */
export function commandLine(argv: readonly string[]): string {
  return argv.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : quoted(word))).join(' ');
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}
