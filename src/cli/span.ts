/** Spans of time on the command line, such as `30m` or `7d`. */
import { badArgument } from '../base/index.ts';

const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 };

/** Milliseconds. `where` names the option. */
export function parseSpan(text: string, where: string): number {
  const match = /^(\d+(?:\.\d+)?)\s*([smhdw])$/i.exec(text.trim());
  if (!match) throw badArgument(`${where} ${text}`, 'a duration looks like 90s, 30m, 12h, 7d or 4w');
  return Math.round(Number(match[1]) * UNIT_SECONDS[match[2]!.toLowerCase()]! * 1000);
}

/** A span in its largest fitting unit, rounded: `3 days`. */
export function formatSpan(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  const [size, name] = (
    [
      [86_400, 'day'],
      [3600, 'hour'],
      [60, 'minute'],
      [1, 'second'],
    ] as const
  ).find(([unit]) => seconds >= 2 * unit) ?? [1, 'second'];
  const count = Math.round(seconds / size);
  return `${count} ${name}${count === 1 ? '' : 's'}`;
}
