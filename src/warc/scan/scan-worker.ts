/**
 * A thread that scans the ranges it is sent, no faster than somebody takes what it finds. A range that cannot be read
 * is answered with the reason; the thread goes on.
 */
import { answerJobs } from '../../base/index.ts';
import { RangeScan, type ScanPiece } from './scan.ts';
import { buffersOf } from './scan-batch.ts';
import { type ScanOrder, waitForRoom } from './scan-order.ts';

answerJobs<ScanOrder, ScanPiece | undefined>(
  ({ job, room }, tell) => {
    const scan = new RangeScan(job);
    try {
      while (waitForRoom(room)) {
        const piece = scan.next();
        if (piece.isLast) return piece;
        tell(piece, buffersOf(piece.columns));
      }
      return undefined;
    } finally {
      scan.close();
    }
  },
  (last) => (last ? buffersOf(last.columns) : []),
);
