/** What the server knows and the page script needs: the names and texts that rewritten scripts contain. */
export type PageSettings = {
  /** The names that rewritten scripts declare in place of those of the window. */
  readonly standIns: readonly string[];
  /** Code that is put before the new value when a script assigns to `location`. */
  readonly checkLocation: string;
  /** Code that takes the place of `location` when a script changes it in another way, such as `+=`. */
  readonly changedLocation: string;
  /** What the names of response fields begin with that must not act again. */
  readonly originalFieldPrefix: string;
};
