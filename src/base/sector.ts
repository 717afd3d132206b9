/** Sectors: what a disk gives, or does not give any more, at once. */

/** The least that disks and the system's memory of files read at once. */
export const SECTOR_BYTES = 4096;

/** How much there is from a position to the end of its sector. */
export function sectorRest(position: number): number {
  return SECTOR_BYTES - (position % SECTOR_BYTES);
}

/** Whether a read failed because the disk does not give these bytes. */
export function isEio(cause: unknown): boolean {
  return (cause as { code?: unknown } | null | undefined)?.code === 'EIO';
}
