/** Loaded before a program: tells at its end how much memory it had, as the last line of its error output. */
process.on('exit', () => process.stderr.write(`\n${process.resourceUsage().maxRSS * 1024}`));
