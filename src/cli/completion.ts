/**
 * `pinakes completion`: scripts with which shells complete commands. The scripts call the hidden command
 * `complete-words`, which reads the same table of commands and options as `--help`. It prints nothing where a file name
 * or a free value is expected: the shell then offers files.
 */
import { Argument, type Command, type Option } from 'commander';
import type { CommandContext } from './command.ts';
import { EXIT_FINE } from './outcome.ts';

const SCRIPTS: Readonly<Record<string, string>> = {
  bash: `_pinakes() {
  local found
  COMPREPLY=()
  while IFS=$'\\t' read -r found _; do COMPREPLY+=("$found"); done < <(
    "\${COMP_WORDS[0]/#\\~\\//$HOME/}" complete-words -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null
  )
}
complete -o default -F _pinakes pinakes
`,
  zsh: `_pinakes() {
  local -a found
  found=("\${(@f)$("\${\${(Q)words[1]}/#\\~\\//$HOME/}" complete-words -- "\${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -z "$found" ]]; then
    compset -P '--*='
    _files
  else
    found=("\${(@)found//:/\\\\:}")
    found=("\${(@)found/$'\\t'/:}")
    _describe pinakes found
  fi
}
compdef _pinakes pinakes
`,
  fish: `function __pinakes_finds
  set -l typed (commandline -opc)
  set -l word (commandline -ct)
  set -l program (string replace -r '^~/' "$HOME/" -- $typed[1])
  set -e typed[1]
  type -q $program || return 1
  set -g __pinakes_found ($program complete-words -- $typed "$word" 2>/dev/null)
  test (count $__pinakes_found) -gt 0
end
complete -c pinakes -n __pinakes_finds -f -a '$__pinakes_found'
`,
};

type Candidate = { readonly word: string; readonly description: string };

export function registerCompletion(
  program: Command,
  context: CommandContext,
  setExitCode: (code: number) => void,
): void {
  program
    .command('completion')
    .description('print a script with which a shell completes commands, options and their values')
    .addArgument(new Argument('<shell>', 'the shell to print the script for').choices(Object.keys(SCRIPTS)))
    .action(async (shell: string) => {
      await context.terminal.write(SCRIPTS[shell]!);
      setExitCode(EXIT_FINE);
    });

  program
    .command('complete-words', { hidden: true })
    .argument('[words...]')
    .action(async (words: readonly string[]) => {
      for (const { word, description } of completionsOf(program, words))
        await context.terminal.line(description === '' ? word : `${word}\t${description}`);
      setExitCode(EXIT_FINE);
    });
}

/** The words that the last typed word can be completed to. */
function completionsOf(program: Command, typed: readonly string[]): Candidate[] {
  // Bash splits `--format=cdxj` into three words.
  const isCut = typed.at(-1) === '=';
  const words = typed.filter((word) => word !== '=');
  const last = isCut ? '' : (words.pop() ?? '');
  let command = program;
  let awaiting: Option | undefined;
  let operands = 0;
  for (const [at, word] of words.entries()) {
    if (word === '--') return [];
    const isValue = awaiting?.required || (awaiting?.optional && !word.startsWith('-'));
    awaiting = undefined;
    if (isValue) continue;
    const subcommand = command.commands.find((one) => one.name() === word);
    if (word.startsWith('-')) awaiting = optionOf(command, word);
    else if (subcommand) command = subcommand;
    else if (!(at === 0 && word === 'help')) operands++;
  }
  const [, name, value] = /^(--[\w-]+)=(.*)$/s.exec(last) ?? [];
  if (name !== undefined)
    return startingWith(value!, choicesOf(optionOf(command, name)?.argChoices)).map((one) => ({
      ...one,
      word: `${name}=${one.word}`,
    }));
  if (awaiting?.required || (awaiting?.optional && awaiting.argChoices && !last.startsWith('-')))
    return startingWith(last, choicesOf(awaiting.argChoices));
  const help = command.createHelp();
  if (last.startsWith('-'))
    return startingWith(
      last,
      help.visibleOptions(command).map(({ long, description }) => ({ word: long ?? '', description })),
    );
  if (command.commands.length > 0)
    return startingWith(
      last,
      help.visibleCommands(command).map((one) => ({ word: one.name(), description: one.description() })),
    );
  return startingWith(last, choicesOf(command.registeredArguments[operands]?.argChoices));
}

function optionOf(command: Command, word: string): Option | undefined {
  return command.options.find(({ long, short }) => long === word || short === word);
}

function choicesOf(choices: readonly string[] | undefined): Candidate[] {
  return (choices ?? []).map((word) => ({ word, description: '' }));
}

function startingWith(start: string, candidates: readonly Candidate[]): Candidate[] {
  return candidates.filter(({ word }) => word.startsWith(start));
}
