/**
 * Reads server-sent events from the body of a reply. The EventSource of the browser cannot send a token. Does not use
 * the browser.
 */
export type ServerEvent = { readonly name: string; readonly data: string };

/** Takes pieces of text and returns the complete events. It keeps an incomplete event for the next piece. */
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
