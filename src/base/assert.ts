/** Guards against bugs of our own. A failing assert is never the user's fault and never caught. */

export class AssertionError extends Error {
  override readonly name = 'AssertionError';
}

export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new AssertionError(`bug in Pinakes: ${message}`);
}
