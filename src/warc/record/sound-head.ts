/**
 * The fields of a head in a form that the standard allows. Odd values are replaced by standard values with the same
 * meaning, and values that cannot be written are left out. The record keeps its meaning, and other readers can read on
 * after the record.
 */
import { type Field, KNOWN_VERSIONS, type RecordHead, SOURCE_DATE_FIELD } from './record-head.ts';

const NEEDS_NO_TARGET = new Set(['warcinfo', 'metadata']);
const NAME = /^[\w!#$%&'*+.^`|~-]+$/;
const CONTROLS = /[\x00-\x08\x0a-\x1f\x7f]+/g;

/** The version of a record that is written anew. An unknown version is read like 1.1. */
export function soundVersion({ version }: RecordHead): string {
  return KNOWN_VERSIONS.has(version) ? version : '1.1';
}

/** Undefined for a head without a type, a date or a target in any form. A sound head keeps its fields. */
export function soundFields(head: RecordHead): Field[] | undefined {
  if (head.form === 'sound') return [...head.fields];
  const { type, targetUri, standardDate } = head;
  if (type === '' || standardDate === undefined) return undefined;
  if (!targetUri && !NEEDS_NO_TARGET.has(type)) return undefined;
  const single = new Map([
    ['warc-type', type],
    ['warc-record-id', head.recordId],
    ['warc-date', standardDate],
    ['warc-target-uri', targetUri],
    ['content-length', head.get('content-length')],
  ]);
  const fields: Field[] = head.get('warc-type') ? [] : [{ name: 'WARC-Type', value: type }];
  for (const { name, value } of head.fields) {
    const lower = name.toLowerCase();
    const known = single.get(lower);
    // When a field that may occur once is repeated, the first value counts.
    const isRepeated = single.has(lower) && known === undefined;
    if (!NAME.test(name) || isRepeated) continue;
    fields.push({ name, value: (known ?? value).replace(CONTROLS, ' ') });
    if (known !== undefined) single.set(lower, undefined);
  }
  const isDated = head.date === standardDate || head.get(SOURCE_DATE_FIELD) !== undefined;
  if (!isDated) fields.push({ name: SOURCE_DATE_FIELD, value: (head.date ?? '').replace(CONTROLS, ' ') });
  return fields;
}
