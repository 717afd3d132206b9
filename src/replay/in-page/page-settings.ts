/** What the server knows and the page script needs: the names and texts that rewritten scripts contain. */
export type PageSettings = {
  /** The names of the window for which rewritten scripts declare stand-ins. */
  readonly standIns: readonly string[];
  /** Code that is put before the new value when a script assigns to `location`. */
  readonly checkLocation: string;
  /** Code that takes the place of `location` when a script changes it in another way, such as `+=`. */
  readonly changedLocation: string;
  /** The prefix of the names of original response fields that must not act again. */
  readonly originalFieldPrefix: string;
};
