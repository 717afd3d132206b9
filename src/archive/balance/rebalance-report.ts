/** What a rebalance is asked for, and what it reports. */
export type RebalanceOptions = {
  /** Moves nothing and only reports what would be moved. */
  readonly dryRun?: boolean | undefined;
  /** Called after each segment, with what was moved so far. */
  readonly onProgress?: ((progress: { segment: string; records: number; bytes: number }) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
};

/** What moves from one volume to another. With `uniform`, only whole segments move. */
export type RebalanceMove = {
  readonly from: string;
  readonly to: string;
  segments: number;
  records: number;
  bytes: number;
};

export type RebalanceReport = {
  readonly distribution: 'hash' | 'uniform';
  readonly moves: RebalanceMove[];
  /** Segments with records that stay where they are, and why. */
  readonly staying: { readonly segment: string; readonly why: string }[];
};

/** The move of a report between two volumes. */
export function moveOf({ moves }: RebalanceReport, from: string, to: string): RebalanceMove {
  let move = moves.find((one) => one.from === from && one.to === to);
  if (!move) {
    move = { from, to, segments: 0, records: 0, bytes: 0 };
    moves.push(move);
  }
  return move;
}
