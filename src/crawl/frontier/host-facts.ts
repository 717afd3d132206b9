/** What a crawler knows of a host that the next crawler of the host must know too. Times are counted from now. */
export type HostFacts = {
  /** How long no request may be sent. */
  readonly pauseMs: number;
  readonly latencyMs: number;
  readonly crawlDelayMs: number;
  readonly refusals: number;
  readonly refusedUrls: number;
  readonly refusesAll: boolean;
  readonly requestedPauseMs: number;
  readonly connectionFailures: number;
  readonly unreachableMs: number;
  readonly answeringOrigin: string | undefined;
  readonly name: 'found' | 'postponed' | 'again' | 'missing';
};

/** The facts of a host, and how long ago another crawler may have sent it a request that it could not note. */
export type EarlierVisits = { readonly facts: HostFacts | undefined; readonly unnotedAgoMs: number | undefined };
