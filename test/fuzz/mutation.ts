/**
 * Ways to damage a file. Each returns the ranges of the sound file that it changed, so that the undamaged records are
 * known.
 */
import type { Random } from '../../src/base/index.ts';

export type Damage = {
  readonly bytes: Buffer;
  readonly kind: string;
  /** The range [from, to) of the earlier file was replaced by `put` bytes. */
  readonly from: number;
  readonly to: number;
  readonly put: number;
};

/** A sound file, to be damaged or to take pieces from. */
type Sound = { readonly bytes: Buffer };

type Mutation = (bytes: Buffer, random: Random, others: readonly Sound[]) => Damage;

const pick = (random: Random, below: number) => Math.floor(random() * below);

function replace(kind: string, bytes: Buffer, from: number, to: number, put: Buffer): Damage {
  const changed = Buffer.concat([bytes.subarray(0, from), put, bytes.subarray(to)]);
  return { bytes: changed, kind, from, to, put: put.length };
}

function place(bytes: Buffer, random: Random, longest: number): [from: number, to: number] {
  const from = pick(random, bytes.length);
  return [from, Math.min(bytes.length, from + 1 + pick(random, longest))];
}

const flipBit: Mutation = (bytes, random) => {
  const at = pick(random, bytes.length);
  return replace('bit flip', bytes, at, at + 1, Buffer.from([bytes[at]! ^ (1 << pick(random, 8))]));
};

const setByte: Mutation = (bytes, random) => {
  const at = pick(random, bytes.length);
  const value = [0, 0xff, 0x0a, 0x0d, 0x20, 0x1f, 0x28, pick(random, 256)][pick(random, 8)]!;
  return replace('byte', bytes, at, at + 1, Buffer.from([value]));
};

const truncate: Mutation = (bytes, random) => {
  const at = pick(random, bytes.length);
  return replace('truncation', bytes, at, bytes.length, Buffer.alloc(0));
};

const insert: Mutation = (bytes, random) => {
  const at = pick(random, bytes.length + 1);
  const isNul = random() < 0.3;
  const put = Buffer.from(Array.from({ length: 1 + pick(random, 40) }, () => (isNul ? 0 : pick(random, 256))));
  return replace('insertion', bytes, at, at, put);
};

const remove: Mutation = (bytes, random) => {
  const [from, to] = place(bytes, random, 60);
  return replace('removal', bytes, from, to, Buffer.alloc(0));
};

const duplicate: Mutation = (bytes, random) => {
  const [from, to] = place(bytes, random, 400);
  return replace('duplication', bytes, from, from, Buffer.from(bytes.subarray(from, to)));
};

const splice: Mutation = (bytes, random, others) => {
  const other = others[pick(random, others.length)]!.bytes;
  const [from, to] = place(other, random, 600);
  const [start, end] = place(bytes, random, 100);
  return replace('splice', bytes, start, end, Buffer.from(other.subarray(from, to)));
};

/** Changes a length, because readers tend to trust these numbers. */
const editLength: Mutation = (bytes, random) => {
  const places = [
    ...bytes.toString('latin1').matchAll(/Content-Length: (\d+)|text\/\w+ (\d+)(?=\n)|^[0-9a-f]+(?=\r\n)/gim),
  ];
  if (places.length === 0) return flipBit(bytes, random, []);
  const found = places[pick(random, places.length)]!;
  const number = /\d*$/.exec(found[0])![0];
  const from = found.index + found[0].length - number.length;
  const wrong = [
    String(Number(number) + 1),
    String(Math.max(0, Number(number) - 1)),
    String(Number(number) + pick(random, 2000)),
    '0',
    '',
    '-1',
    '999999999999',
    '99999999999999999999',
    'x',
  ];
  return replace('length', bytes, from, from + number.length, Buffer.from(wrong[pick(random, wrong.length)]!));
};

const HEADER_EDITS: readonly [find: RegExp, put: string][] = [
  [/\r\n/g, '\n'],
  [/\r\n\r\n/g, '\r\n'],
  [/: /g, ' '],
  [/WARC\/1\.1/g, 'WARC/9.9'],
  [/WARC\/1\.1/g, 'warc/1.1'],
  [/WARC-Type: \w+/g, 'WARC-Type:'],
  [/WARC-Record-ID/g, '\tfolded'],
  [/chunked/g, 'gzip, br, zstd, chunked'],
  [/HTTP\/1\.1/g, 'HTTP'],
  [/20240301100000/g, '2024'],
  [/192\.0\.2\.10 /g, '192.0.2.10  '],
];

const editHeader: Mutation = (bytes, random) => {
  const [find, put] = HEADER_EDITS[pick(random, HEADER_EDITS.length)]!;
  const places = [...bytes.toString('latin1').matchAll(find)];
  if (places.length === 0) return setByte(bytes, random, []);
  const found = places[pick(random, places.length)]!;
  return replace('header', bytes, found.index, found.index + found[0].length, Buffer.from(put));
};

const MUTATIONS: readonly Mutation[] = [
  flipBit,
  flipBit,
  setByte,
  truncate,
  insert,
  remove,
  duplicate,
  splice,
  editLength,
  editHeader,
];

/** Damages the file one to three times. */
export function damage(base: Sound, random: Random, others: readonly Sound[]): Damage[] {
  const damages: Damage[] = [];
  let bytes = base.bytes;
  const times = random() < 0.6 ? 1 : 2 + pick(random, 2);
  for (let i = 0; i < times && bytes.length > 0; i++) {
    const done = MUTATIONS[pick(random, MUTATIONS.length)]!(bytes, random, others);
    damages.push(done);
    bytes = done.bytes;
  }
  return damages;
}

/** The new position of a range of the sound file, or undefined when a damage changed the range. */
export function placeAfter(damages: readonly Damage[], from: number, to: number): number | undefined {
  let [start, end] = [from, to];
  for (const { from: touched, to: touchedTo, put } of damages) {
    const isInsertion = touched === touchedTo;
    // An insertion at a border changes both sides of it.
    if (isInsertion ? touched >= start && touched <= end : touched < end && touchedTo > start) return undefined;
    const shift = touchedTo <= start ? put - (touchedTo - touched) : 0;
    start += shift;
    end += shift;
  }
  return start;
}
