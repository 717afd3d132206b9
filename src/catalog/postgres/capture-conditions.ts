/** A range of captures as a condition on the table of captures `c`. */
import { utf8 } from '../../base/index.ts';
import { type CaptureRange, onlyKeyOf } from '../catalog.ts';
import { clampTime, isLongKey, keyStart, sortableKey } from '../key-order.ts';
import { sideOf } from '../key-range.ts';

export type CaptureConditions = { readonly where: string; readonly values: readonly unknown[] };

/** The condition; undefined when the range is empty. */
export function captureConditions(range: CaptureRange): CaptureConditions | undefined {
  const { keyFrom, keyTo, timeFrom, timeTo, after, reverse = false } = range;
  const conditions: string[] = [];
  const values: unknown[] = [];
  const parameter = (value: Uint8Array | number) =>
    `$${values.push(value)}::${typeof value === 'number' ? 'bigint' : 'bytea'}`;
  const only = onlyKeyOf(range);
  if (only !== undefined) {
    conditions.push(`c.key = ${parameter(sortableKey(only))}`);
  } else {
    if (keyFrom !== undefined) conditions.push(...keyConditions('>=', keyFrom, parameter));
    if (keyTo !== undefined) conditions.push(...keyConditions('<', keyTo, parameter));
  }
  if (timeFrom !== undefined) conditions.push(`c.time >= ${parameter(Math.ceil(clampTime(timeFrom)))}`);
  if (timeTo !== undefined) {
    if (timeTo < clampTime(timeTo)) return undefined;
    conditions.push(`c.time <= ${parameter(Math.floor(clampTime(timeTo)))}`);
  }
  const side = after && sideOf(after.urlKey, range);
  if (side === (reverse ? 'below' : 'above')) return undefined;
  if (after && side === 'inside') {
    const { urlKey, time, place } = after;
    const position = [parameter(sortableKey(urlKey)), ...[time, place.segment, place.offset].map(parameter)];
    conditions.push(`(c.key, c.time, c.segment, c.record_offset) ${reverse ? '<' : '>'} (${position.join(', ')})`);
  }
  return { where: conditions.length > 0 ? conditions.join(' and ') : 'true', values };
}

/** Long keys with the same beginning are not in the order of their bytes, so their whole text is compared too. */
function keyConditions(operator: '>=' | '<', key: string, parameter: (value: Uint8Array) => string): readonly string[] {
  if (!isLongKey(key)) return [`c.key ${operator} ${parameter(utf8(key))}`];
  const start = keyStart(key);
  const whole = `case when c.long_key = '' then c.key else c.long_key end`;
  const besides = operator === '<' ? Buffer.concat([start, Buffer.of(0xff)]) : start;
  return [`c.key ${operator} ${parameter(besides)}`, `${whole} ${operator} ${parameter(utf8(key))}`];
}
