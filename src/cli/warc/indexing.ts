/** `pinakes warc index`: writes CDXJ or CDX lines of files, as cdxj-indexer would write them. */
import { tmpdir } from 'node:os';
import { badArgument } from '../../base/index.ts';
import {
  CDX_9,
  CDX_11,
  type CdxEntry,
  cdxLineFormatter,
  formatCdxHeader,
  formatCdxjLine,
  indexEntries,
  sortLines,
} from '../../warc/index.ts';
import type { CommandContext } from '../command.ts';
import { walkInputs } from '../input-walk.ts';
import { formatFinding } from '../terminal.ts';

export type IndexCommandOptions = {
  readonly format: string;
  readonly sort?: boolean;
  readonly postAppend?: boolean;
  readonly computeSha1?: boolean;
};

const CDX_FORMATS = { cdx9: CDX_9, cdx11: CDX_11 } as const;

export async function warcIndex(
  context: CommandContext,
  paths: readonly string[],
  options: IndexCommandOptions,
): Promise<number> {
  const { terminal } = context;
  const { header, format } = indexFormatter(options.format);
  refuseSha1Elsewhere(options.format, options.computeSha1);
  if (header !== undefined) await terminal.line(header);
  if (!options.sort) return eachLine(context, paths, options, format, (line) => terminal.line(line));
  // The walk pushes lines and the sorter pulls them. A channel of one line between the two bounds the memory (I9).
  const channel = new TransformStream<string, string>();
  const writer = channel.writable.getWriter();
  const walk = eachLine(context, paths, options, format, (line) => writer.write(line)).then(
    async (code) => {
      await writer.close();
      return code;
    },
    // When the walk fails, the lines so far must not be printed as if they were complete.
    async (error) => {
      await writer.abort(error);
      throw error;
    },
  );
  walk.catch(() => {});
  for await (const line of sortLines(channel.readable, { directory: tmpdir() })) await terminal.line(line);
  return walk;
}

/** Refuses --compute-sha1 with formats that can contain any digest. */
export function refuseSha1Elsewhere(format: string, computeSha1: boolean | undefined): void {
  if (computeSha1 && format !== 'cdx11' && format !== 'cdx9')
    throw badArgument('--compute-sha1', 'this option is only for --format cdx11 and cdx9');
}

/** How to write an index: its first line, when it has one, and its entries. */
export function indexFormatter(name: string): { header: string | undefined; format: (entry: CdxEntry) => string } {
  if (name === 'cdxj') return { header: undefined, format: formatCdxjLine };
  const cdx = CDX_FORMATS[name as keyof typeof CDX_FORMATS];
  if (!cdx) throw badArgument(`--format ${name}`, 'cdxj, cdx11 or cdx9');
  return { header: formatCdxHeader(cdx), format: cdxLineFormatter(cdx, { onlySha1: true }) };
}

function eachLine(
  { terminal, signal }: CommandContext,
  paths: readonly string[],
  options: IndexCommandOptions,
  format: (entry: CdxEntry) => string,
  put: (line: string) => Promise<void>,
): Promise<number> {
  const onFinding = (finding: Parameters<typeof formatFinding>[0]) => {
    if (finding.level === 'error') terminal.say(formatFinding(finding));
  };
  return walkInputs(terminal, paths, { label: 'index', onFinding, signal }, async ({ input }) => {
    const entries = indexEntries(input.read(), {
      filename: input.filename,
      withRequests: options.postAppend === true,
      computesSha1: options.computeSha1 === true,
    });
    for await (const entry of entries) await put(format(entry));
  });
}
