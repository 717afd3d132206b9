/**
 * The checksum of LevelDB: CRC-32C (RFC 3720, appendix B.4), "masked" so that a checksum over bytes that contain
 * checksums still detects errors.
 */
const POLYNOMIAL = 0x82f63b78;
const MASK_DELTA = 0xa282ead8;

const TABLE = Int32Array.from({ length: 256 }, (_, byte) => {
  let rest = byte;
  for (let bit = 0; bit < 8; bit++) rest = (rest & 1) === 1 ? (rest >>> 1) ^ POLYNOMIAL : rest >>> 1;
  return rest;
});

/** The masked checksum, as it is stored. */
export function levelSum(...parts: readonly Uint8Array[]): number {
  let crc = -1;
  for (const part of parts)
    for (let at = 0; at < part.length; at++) crc = TABLE[(crc ^ part[at]!) & 0xff]! ^ (crc >>> 8);
  const plain = ~crc;
  return (((plain >>> 15) | (plain << 17)) + MASK_DELTA) >>> 0;
}
