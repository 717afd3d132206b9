/** Builds ZIP files: sound ones, and others whose entries share bytes. */
import { crc32, deflateRawSync } from 'node:zlib';

export type ZipMember = {
  readonly name: string;
  readonly content: Uint8Array | string;
  readonly isStored?: boolean;
  /** The index of another member. The directory points at the bytes of that member. */
  readonly sharesWith?: number;
};

export function zipFile(members: readonly ZipMember[]): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  const places: { readonly fields: Buffer; readonly offset: number }[] = [];
  let offset = 0;
  for (const { name, content, isStored = false, sharesWith } of members) {
    if (sharesWith === undefined) {
      const plain = Buffer.from(content as Uint8Array);
      const packed = isStored ? plain : deflateRawSync(plain);
      const fields = Buffer.alloc(22);
      fields.writeUInt16LE(20, 0);
      fields.writeUInt16LE(isStored ? 0 : 8, 4);
      fields.writeUInt32LE(crc32(plain), 10);
      fields.writeUInt32LE(packed.length, 14);
      fields.writeUInt32LE(plain.length, 18);
      const nameLength = Buffer.alloc(4);
      nameLength.writeUInt16LE(Buffer.byteLength(name));
      parts.push(Buffer.from('PK\x03\x04', 'latin1'), fields, nameLength, Buffer.from(name), packed);
      places.push({ fields, offset });
      offset += 30 + Buffer.byteLength(name) + packed.length;
    } else places.push(places[sharesWith]!);
    const place = places.at(-1)!;
    const rest = Buffer.alloc(18);
    rest.writeUInt16LE(Buffer.byteLength(name));
    rest.writeUInt32LE(place.offset, 14);
    directory.push(Buffer.from('PK\x01\x02\x14\x00', 'latin1'), place.fields, rest, Buffer.from(name));
  }
  const listed = Buffer.concat(directory);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(members.length, 4);
  end.writeUInt16LE(members.length, 6);
  end.writeUInt32LE(listed.length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...parts, listed, Buffer.from('PK\x05\x06', 'latin1'), end]);
}
