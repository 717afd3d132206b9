/**
 * Arrays as parameters of statements, in PostgreSQL's binary form: a statement takes any number of rows with one array
 * for each column. The text form of bytes is twice as long, and slow to read and write.
 *
 *     dimensions   4    1
 *     has nulls    4    0 or 1
 *     element      4    number of the element's type
 *     length       4
 *     first index  4    1
 *     elements          each: its length in 4 bytes (-1: null), and its bytes
 *
 * All numbers have the highest byte first. An empty array has no dimensions, no length and no first index.
 */
import { assert } from '../base/index.ts';

export type ElementType = 'bytea' | 'bigint' | 'integer' | 'smallint' | 'text';

export type Element = Uint8Array | number | string | null;

const TYPE_NUMBERS: Readonly<Record<ElementType, number>> = {
  bytea: 17,
  bigint: 20,
  integer: 23,
  smallint: 21,
  text: 25,
};
const NUMBER_BYTES: Readonly<Partial<Record<ElementType, number>>> = { bigint: 8, integer: 4, smallint: 2 };

const HEAD_BYTES = 20;
const EMPTY_HEAD_BYTES = 12;

export function binaryArray(type: ElementType, elements: readonly Element[]): Buffer {
  let bytes = HEAD_BYTES;
  let hasNull = false;
  for (const element of elements) {
    hasNull ||= element === null;
    bytes += 4 + elementBytes(type, element);
  }
  const array = Buffer.alloc(elements.length === 0 ? EMPTY_HEAD_BYTES : bytes);
  array.writeInt32BE(elements.length === 0 ? 0 : 1, 0);
  array.writeInt32BE(hasNull ? 1 : 0, 4);
  array.writeInt32BE(TYPE_NUMBERS[type], 8);
  if (elements.length === 0) return array;
  array.writeInt32BE(elements.length, 12);
  array.writeInt32BE(1, 16);
  let at = HEAD_BYTES;
  for (const element of elements) at = writeElement(array, at, type, element);
  return array;
}

/** The fields of a row in the binary form of COPY. */
export function binaryRow(fields: readonly (readonly [type: ElementType, value: Element])[]): Buffer {
  let bytes = 2;
  for (const [type, value] of fields) bytes += 4 + elementBytes(type, value);
  const row = Buffer.allocUnsafe(bytes);
  let at = row.writeInt16BE(fields.length, 0);
  for (const [type, value] of fields) at = writeElement(row, at, type, value);
  return row;
}

function elementBytes(type: ElementType, element: Element): number {
  if (element === null) return 0;
  if (typeof element === 'string') return Buffer.byteLength(element);
  return typeof element === 'number' ? NUMBER_BYTES[type]! : element.length;
}

function writeElement(array: Buffer, at: number, type: ElementType, element: Element): number {
  if (element === null) return array.writeInt32BE(-1, at);
  const start = array.writeInt32BE(elementBytes(type, element), at);
  if (typeof element === 'string') return start + array.write(element, start, 'utf8');
  if (typeof element !== 'number') {
    array.set(element, start);
    return start + element.length;
  }
  assert(Number.isSafeInteger(element), 'a number of a row is not a whole number');
  if (type === 'smallint') return array.writeInt16BE(element, start);
  if (type === 'integer') return array.writeInt32BE(element, start);
  array.writeInt32BE(Math.floor(element / 2 ** 32), start);
  return array.writeUInt32BE(element >>> 0, start + 4);
}
