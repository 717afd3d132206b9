/**
 * Runs commands one after another in one process. `src/cli/main.ts` is evaluated again for each command, and only the
 * modules that it imports stay loaded. A request is one message, `{ number, directory, argv }`. When the command is
 * done, a line on both outputs marks the end of its output: a NUL, the number of the request, the exit code, a newline.
 */

type CommandRequest = { readonly number: number; readonly directory: string; readonly argv: readonly string[] };

const PROGRAM = new URL('../../src/cli/main.ts', import.meta.url);

// Every command adds listeners to the outputs and the interrupt. These listeners stay until the process ends.
for (const emitter of [process, process.stdout, process.stderr]) emitter.setMaxListeners(0);

async function runCommand({ number, directory, argv }: CommandRequest): Promise<void> {
  process.chdir(directory);
  process.argv.splice(1, process.argv.length, PROGRAM.pathname, ...argv);
  process.exitCode = undefined;
  await import(`${PROGRAM.href}?request=${number}`);
  const end = `\0${number} ${process.exitCode ?? 0}\n`;
  process.stdout.write(end);
  process.stderr.write(end);
}

let last = Promise.resolve();
process.on('message', (request: CommandRequest) => {
  last = last.then(() => runCommand(request));
});
process.on('disconnect', () => process.exit());
