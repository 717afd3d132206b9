/**
 * Loaded before everything else, by `--import`: changes the sources as the mutations say that `--rule` or `--without`
 * names (mutations.ts). The files of the sources are not touched.
 */
import { registerHooks } from 'node:module';
import { argv } from 'node:process';
import { MUTATIONS } from './mutations.ts';

const names = argv.flatMap((option, index) =>
  option === '--rule' || option === '--without' ? (argv[index + 1] ?? '').split(',') : [],
);
const edits = names.flatMap((name) => (Object.hasOwn(MUTATIONS, name) ? MUTATIONS[name]!.edits : []));

if (edits.length > 0)
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      const own = edits.filter(({ file }) => url.endsWith(`/${file}`));
      if (own.length === 0) return loaded;
      let source = Buffer.from(loaded.source as Uint8Array).toString();
      for (const { file, from, to } of own) {
        const pieces = source.split(from);
        if (pieces.length !== 2) throw new Error(`${file} has ${pieces.length - 1} times: ${from}`);
        source = pieces.join(to);
      }
      return { ...loaded, source };
    },
  });
