/** Loaded before a program: prints how much memory the program had, as the last line of its error output. */
process.on('exit', () => process.stderr.write(`\n${process.resourceUsage().maxRSS * 1024}`));
