/**
 * An archive that another machine serves, named by the address of its server: `--archive https://archive.example.org`.
 * The token comes from a file or from the environment, and never from the command line, which others can list.
 */
import { readFile } from 'node:fs/promises';
import { PinakesError, readingFile } from '../base/index.ts';
import { ContentsClient, RequestRefusedError, ServerUnreachableError } from '../client/index.ts';
import { type CommandContext, resolveTypedPath } from './command.ts';

export type HttpArchiveOptions = { readonly archive: string; readonly tokenFile?: string };

export async function httpArchive(context: CommandContext, options: HttpArchiveOptions): Promise<ContentsClient> {
  const token = await tokenOf(context, options.tokenFile);
  return new ContentsClient(options.archive, { ...(token !== undefined && { token }), signal: context.signal });
}

async function tokenOf(context: CommandContext, file: string | undefined): Promise<string | undefined> {
  if (file === undefined) return process.env.PINAKES_TOKEN?.trim() || undefined;
  const path = resolveTypedPath(context, file);
  return (await readingFile(path, () => readFile(path, 'utf8'))).trim();
}

/** An error of the client as one of this program. */
export function httpError(error: unknown, address: string): unknown {
  if (error instanceof ServerUnreachableError)
    return new PinakesError('REMOTE_GONE', { where: address, detail: error.message, cause: error });
  if (!(error instanceof RequestRefusedError)) return error;
  const { status, code, message } = error;
  if (status === 507) return new PinakesError('REMOTE_FULL', { where: address, detail: message, cause: error });
  return new PinakesError('REMOTE_REFUSED', { where: address, detail: `${message}: ${code}`, cause: error });
}
