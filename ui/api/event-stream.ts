/**
 * Server-sent events out of the body of a reply. The browser's own EventSource cannot show a token. Knows nothing of
 * the browser.
 */
export type ServerEvent = { readonly name: string; readonly data: string };

/** Takes text as it comes and gives the events that are whole; the rest waits for more. */
export class EventReader {
  #rest = '';

  take(text: string): ServerEvent[] {
    const blocks = (this.#rest + text).split('\n\n');
    this.#rest = blocks.pop() ?? '';
    return blocks.flatMap((block) => {
      const data = fieldsOf(block, 'data');
      return data.length === 0 ? [] : [{ name: fieldsOf(block, 'event').at(-1) ?? 'message', data: data.join('\n') }];
    });
  }
}

function fieldsOf(block: string, name: string): string[] {
  return block
    .split('\n')
    .filter((line) => line.startsWith(`${name}:`))
    .map((line) => line.slice(name.length + 1).replace(/^ /, ''));
}
