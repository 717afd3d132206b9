/** Formats lines of the access log: as JSON, or in the combined log format of other servers, which log tools read. */
import { formatW3cDate } from '../../base/index.ts';
import type { AccessLine } from '../../server/index.ts';
import { printableJson } from '../terminal.ts';

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

export function formatAccessLine(line: AccessLine, format: 'json' | 'common'): string {
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
