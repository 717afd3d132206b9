/**
 * Appends to a volume under a limit of file sizes or on a small disk until an append fails, and prints the outcome as
 * JSON.
 *
 * Argument: the directory to make a volume in.
 */
import { PinakesError } from '../../src/base/index.ts';
import { createDirectoryVolume, openDirectoryVolume } from '../../src/volume/index.ts';

export type Filled = {
  readonly code: string;
  readonly retryable: boolean;
  /**
   * The bytes that were appended before the failure, and the length of the object after the failure: in the same
   * volume, and in a volume that was opened again.
   */
  readonly appendedBytes: number;
  readonly bytesAfter: number;
  readonly bytesReopened: number;
  /** Whether a small append that fits succeeds after the failure. */
  readonly goesOn: boolean;
};

async function main(directory: string): Promise<Filled> {
  await createDirectoryVolume('small', directory);
  const volume = await openDirectoryVolume('small', directory, { writable: true });
  await volume.create('a');
  let appendedBytes = 0;
  let failure: unknown;
  // The size is odd, so that the limit falls inside an append and not between two.
  const parts = [new Uint8Array(10_007).fill(1), new Uint8Array(20_021).fill(2)];
  while (!failure) {
    try {
      await volume.append('a', appendedBytes, parts);
      await volume.sync(['a']);
      appendedBytes += 30_028;
    } catch (cause) {
      failure = cause;
    }
  }
  const [after] = await volume.stat(['a']);
  const goesOn = await volume.append('a', appendedBytes, [new Uint8Array(1)]).then(
    () => true,
    () => false,
  );
  await volume.truncate('a', appendedBytes);
  await volume.sync(['a']);
  await volume.close();
  const again = await openDirectoryVolume('small', directory, { writable: false });
  const [reopened] = await again.stat(['a']);
  await again.close();
  return {
    code: failure instanceof PinakesError ? failure.code : String(failure),
    retryable: failure instanceof PinakesError && failure.retryable,
    appendedBytes,
    bytesAfter: after!.bytes,
    bytesReopened: reopened!.bytes,
    goesOn,
  };
}

if (import.meta.main) process.stdout.write(JSON.stringify(await main(process.argv[2]!)));
