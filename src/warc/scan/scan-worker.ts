/**
 * A thread that scans the ranges it is sent, no faster than the results are taken. When a range cannot be read, the
 * answer is the error, and the thread continues.
 */
import { answerJobs } from '../../base/index.ts';
import { RangeScan, type ScanPiece } from './scan.ts';
import { buffersOf } from './scan-batch.ts';
import { type ScanOrder, waitForRoom } from './scan-order.ts';

answerJobs<ScanOrder, ScanPiece | undefined>(
  ({ job, room }, report) => {
    const scan = new RangeScan(job);
    try {
      while (waitForRoom(room)) {
        const piece = scan.next();
        if (piece.isLast) return piece;
        report(piece, buffersOf(piece.columns));
      }
      return undefined;
    } finally {
      scan.close();
    }
  },
  (last) => (last ? buffersOf(last.columns) : []),
);
