/** The access log: lines of JSON, or in the combined log format of other servers, which log tools read. */
import { open } from 'node:fs/promises';
import { badArgument, formatW3cDate, writingFile } from '../../base/index.ts';
import type { AccessLine } from '../../server/index.ts';
import type { CommandContext } from '../command.ts';
import { printableJson } from '../terminal.ts';

export type LogFormat = 'json' | 'common';

export function logFormatOf(text: string): LogFormat {
  if (text === 'json' || text === 'common') return text;
  throw badArgument(text, '--access-log-format is json or common');
}

export type AccessLog = { readonly write: (line: AccessLine) => void; readonly close: () => void };

/** Opens the access log. Refuses a file that cannot be written at the start, and not when the log is needed. */
export async function openAccessLog({ terminal }: CommandContext, path: string, format: LogFormat): Promise<AccessLog> {
  if (path === '-') return { write: (line) => terminal.say(formatAccessLine(line, format)), close: () => {} };
  const file = await writingFile(path, () => open(path, 'a', 0o640));
  const stream = file.createWriteStream();
  let hasFailed = false;
  stream.on('error', (error) => {
    // Reported once. The server goes on without the log.
    if (!hasFailed) terminal.say(`pinakes: the access log cannot be written: ${error.message}`);
    hasFailed = true;
  });
  return {
    write: (line) => {
      if (!hasFailed) stream.write(`${formatAccessLine(line, format)}\n`);
    },
    close: () => stream.end(),
  };
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

export function formatAccessLine(line: AccessLine, format: LogFormat): string {
  if (format === 'json') {
    return printableJson({
      ...line,
      time: formatW3cDate(line.time),
      milliseconds: Math.round(line.milliseconds * 100) / 100,
    });
  }
  const { address, method, target, protocol, status, bytes, referrer, agent } = line;
  const request = `"${escaped(`${method} ${target} ${protocol}`)}"`;
  return `${address} - - [${logTime(line.time)}] ${request} ${status} ${bytes} "${escaped(referrer) || '-'}" "${escaped(agent) || '-'}"`;
}

/** `01/Mar/2024:10:00:00 +0000`. */
function logTime(time: number): string {
  const [year, month, day, clock] = new Date(time).toISOString().split(/[-T.]/) as [string, string, string, string];
  return `${day}/${MONTHS[Number(month) - 1]}/${year}:${clock} +0000`;
}

/** Escapes a text of the client, so that it cannot end a field of the line, or the line itself. */
function escaped(text: string): string {
  return text.replace(
    /[\x00-\x1f\x7f-\x9f"\\]/g,
    (character) => `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`,
  );
}
