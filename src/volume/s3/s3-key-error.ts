/** The failure of one key in an answer that is about many. Its name is the code of the server. */
export function keyError(
  { Code, Key, Message }: { Code?: string | undefined; Key?: string | undefined; Message?: string | undefined },
  failures: number,
): Error {
  const others = failures > 1 ? ` and ${failures - 1} more` : '';
  return Object.assign(new Error(`${Key ?? 'an object'}${others}: ${Message ?? ''}`), {
    name: Code ?? 'InternalError',
  });
}
