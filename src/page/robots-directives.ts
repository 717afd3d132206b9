/**
 * Reads the directives for robots of a page, from `meta` elements and X-Robots-Tag fields.
 *
 * ```
 *   <meta name="robots" content="noindex, max-image-preview:none">    the name is `robots` or that of one robot
 *   X-Robots-Tag: noarchive, otherbot: noindex, nofollow              a robot's name applies to all directives after it
 * ```
 */
export type RobotsDirectives = { readonly nofollow: boolean; readonly noindex: boolean };

/** Matches directives with a value. The value may be any word, even `none`. */
const VALUED = /max-[a-z-]+[ \t]*:[ \t]*[^\s,]*|unavailable_after[ \t]*:[^,]*/g;
const AGENT = /^\s*([\w*.-]+)\s*:/;

/** True if directives for the robot with this name, in lower case, apply to this program. */
export function appliesToUs(name: string): boolean {
  return name === 'robots' || name === 'pinakes';
}

export function robotsDirectives(content: string): RobotsDirectives {
  const words = content.toLowerCase().replace(VALUED, ' ');
  return { nofollow: /\b(nofollow|none)\b/.test(words), noindex: /\b(noindex|none)\b/.test(words) };
}

/** The directives in the value of one X-Robots-Tag field for all robots and for this program. */
export function robotsTagDirectives(value: string): RobotsDirectives {
  let applies = true;
  const applying: string[] = [];
  for (const part of value.toLowerCase().replace(VALUED, ' ').split(',')) {
    const agent = AGENT.exec(part)?.[1];
    if (agent !== undefined) applies = appliesToUs(agent);
    if (applies) applying.push(part);
  }
  return robotsDirectives(applying.join());
}
