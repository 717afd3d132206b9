/**
 * The fields of a head as the standard asks for them: what is odd in it is worked out, what cannot be written is left
 * out. The record says the same, and other readers go on behind it.
 */
import { type Field, KNOWN_VERSIONS, type RecordHead, SOURCE_DATE_FIELD } from './record-head.ts';

const NEEDS_NO_TARGET = new Set(['warcinfo', 'metadata']);
const NAME = /^[\w!#$%&'*+.^`|~-]+$/;
const CONTROLS = /[\x00-\x08\x0a-\x1f\x7f]+/g;

/** The version that a record written anew has; one that is not known is read like 1.1. */
export function soundVersion({ version }: RecordHead): string {
  return KNOWN_VERSIONS.has(version) ? version : '1.1';
}

/**
 * Undefined for a head that does not say its type, its date or its target in any way. A head that was sound keeps its
 * fields.
 */
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
    // Of a field that may be there once, the first counts.
    const isRepeated = single.has(lower) && known === undefined;
    if (!NAME.test(name) || isRepeated) continue;
    fields.push({ name, value: (known ?? value).replace(CONTROLS, ' ') });
    if (known !== undefined) single.set(lower, undefined);
  }
  const isDated = head.date === standardDate || head.get(SOURCE_DATE_FIELD) !== undefined;
  if (!isDated) fields.push({ name: SOURCE_DATE_FIELD, value: (head.date ?? '').replace(CONTROLS, ' ') });
  return fields;
}
