/** What a command of the command line was about, read from what was typed. Knows nothing of the browser. */

/** Options without a value; of all others the next word is the value. */
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

/** Their value may be left out. */
const OPTIONAL_VALUE = new Set(['--again', '--browser', '--resume']);

/** Options that say what a command is about, the more telling first. */
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
  /** What stood behind the verb and belongs to no option: files, or addresses. */
  readonly named: readonly string[];
  /** What the most telling option says, or empty. */
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
  return { named: named.slice(1), subject: subject ?? (argv.includes('--due') ? 'what is due' : '') };
}

/** What was typed behind the name of the program, as it can be typed again. */
export function commandLine(argv: readonly string[]): string {
  return argv.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : quoted(word))).join(' ');
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}
