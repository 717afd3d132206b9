/**
 * `pinakes completion`: scripts that let shells complete what is typed. They ask the program itself, by
 * `complete-words`, which goes by the same table of commands and options that `--help` shows. Nothing to offer means a
 * file name, or something that only the person knows: shells then offer files.
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

export function registerCompletion(program: Command, context: CommandContext, ends: (code: number) => void): void {
  program
    .command('completion')
    .description('print a script that lets a shell complete commands, options and their values')
    .addArgument(new Argument('<shell>', 'which shell').choices(Object.keys(SCRIPTS)))
    .action(async (shell: string) => {
      await context.terminal.write(SCRIPTS[shell]!);
      ends(EXIT_FINE);
    });

  program
    .command('complete-words', { hidden: true })
    .argument('[words...]')
    .action(async (words: readonly string[]) => {
      for (const { word, description } of completionsOf(program, words))
        await context.terminal.line(description === '' ? word : `${word}\t${description}`);
      ends(EXIT_FINE);
    });
}

/** What the last of the words can become. */
function completionsOf(program: Command, typed: readonly string[]): Candidate[] {
  // Bash cuts `--format=cdxj` in three.
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
    const below = command.commands.find((one) => one.name() === word);
    if (word.startsWith('-')) awaiting = optionOf(command, word);
    else if (below) command = below;
    else if (!(at === 0 && word === 'help')) operands++;
  }
  const [, name, value] = /^(--[\w-]+)=(.*)$/s.exec(last) ?? [];
  if (name !== undefined)
    return beginning(value!, named(optionOf(command, name)?.argChoices)).map((one) => ({
      ...one,
      word: `${name}=${one.word}`,
    }));
  if (awaiting?.required || (awaiting?.optional && awaiting.argChoices && !last.startsWith('-')))
    return beginning(last, named(awaiting.argChoices));
  const help = command.createHelp();
  if (last.startsWith('-'))
    return beginning(
      last,
      help.visibleOptions(command).map(({ long, description }) => ({ word: long ?? '', description })),
    );
  if (command.commands.length > 0)
    return beginning(
      last,
      help.visibleCommands(command).map((one) => ({ word: one.name(), description: one.description() })),
    );
  return beginning(last, named(command.registeredArguments[operands]?.argChoices));
}

function optionOf(command: Command, word: string): Option | undefined {
  return command.options.find(({ long, short }) => long === word || short === word);
}

function named(choices: readonly string[] | undefined): Candidate[] {
  return (choices ?? []).map((word) => ({ word, description: '' }));
}

function beginning(start: string, candidates: readonly Candidate[]): Candidate[] {
  return candidates.filter(({ word }) => word.startsWith(start));
}
