/**
 * What a page says to robots about itself, in `meta` elements and in X-Robots-Tag fields.
 *
 * ```
 *   <meta name="robots" content="noindex, max-image-preview:none">    of a name, for all or for one robot
 *   X-Robots-Tag: noarchive, otherbot: noindex, nofollow              a robot's name and a colon hold for what follows in the field
 * ```
 */
export type RobotsDirectives = { readonly nofollow: boolean; readonly noindex: boolean };

/** Directives with a value, which may be any word, `none` too. */
const VALUED = /max-[a-z-]+[ \t]*:[ \t]*[^\s,]*|unavailable_after[ \t]*:[^,]*/g;
const AGENT = /^\s*([\w*.-]+)\s*:/;

/** Whether directives under this name, in lower case, are meant for this program. */
export function isForUs(name: string): boolean {
  return name === 'robots' || name === 'pinakes';
}

export function robotsDirectives(content: string): RobotsDirectives {
  const words = content.toLowerCase().replace(VALUED, ' ');
  return { nofollow: /\b(nofollow|none)\b/.test(words), noindex: /\b(noindex|none)\b/.test(words) };
}

/** What the value of one X-Robots-Tag field says to all robots and to this program. */
export function robotsTagDirectives(value: string): RobotsDirectives {
  let isMeant = true;
  const meant: string[] = [];
  for (const part of value.toLowerCase().replace(VALUED, ' ').split(',')) {
    const agent = AGENT.exec(part)?.[1];
    if (agent !== undefined) isMeant = isForUs(agent);
    if (isMeant) meant.push(part);
  }
  return robotsDirectives(meant.join());
}
