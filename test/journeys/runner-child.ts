/**
 * Runs command lines one after another in one process, each with a program of its own: everything that
 * `src/cli/main.ts` does is done anew, and only the modules below it stay loaded. An order is one message, `{ number,
 * directory, argv }`. When the command is done, both outputs get a line of their own that ends what belongs to it: a
 * NUL, the number of the order, the exit code, a newline.
 */

type Order = { readonly number: number; readonly directory: string; readonly argv: readonly string[] };

const PROGRAM = new URL('../../src/cli/main.ts', import.meta.url);

// Every program watches the outputs and the interrupt for as long as the process lives.
for (const emitter of [process, process.stdout, process.stderr]) emitter.setMaxListeners(0);

async function obey({ number, directory, argv }: Order): Promise<void> {
  process.chdir(directory);
  process.argv.splice(1, process.argv.length, PROGRAM.pathname, ...argv);
  process.exitCode = undefined;
  await import(`${PROGRAM.href}?order=${number}`);
  const end = `\0${number} ${process.exitCode ?? 0}\n`;
  process.stdout.write(end);
  process.stderr.write(end);
}

let last = Promise.resolve();
process.on('message', (order: Order) => {
  last = last.then(() => obey(order));
});
process.on('disconnect', () => process.exit());
