/** Sectors: the units in which a disk can be read, or fails. */

/** The smallest unit that disks and the page cache read. */
export const SECTOR_BYTES = 4096;

/** Bytes from a position to the end of its sector. */
export function sectorRest(position: number): number {
  return SECTOR_BYTES - (position % SECTOR_BYTES);
}

/** Whether a read failed because the disk cannot read these bytes. */
export function isEio(cause: unknown): boolean {
  return (cause as { code?: unknown } | null | undefined)?.code === 'EIO';
}
