/**
 * Rewrites code that scripts evaluate: scripts that they create, and texts for `eval` and `Function`. The server
 * rewrites scripts token by token. This code uses regular expressions, because the text may be of any kind. They have
 * no lookbehind, which older browsers cannot parse.
 */
import type { PageSettings } from './page-settings.ts';

/** Calls wombat's function that returns the stand-in if `this` is the window, else `this` itself. */
export const CHECK_THIS = '_____WB$wombat$check$this$function_____(this)';

const QUOTED =
  /"[^"\\\n]*(?:\\[\s\S][^"\\\n]*)*"?|'[^'\\\n]*(?:\\[\s\S][^'\\\n]*)*'?|\x60[^\x60\\]*(?:\\[\s\S][^\x60\\]*)*\x60?/
    .source;
/** Matches strings and declarations of a variable `location`, which stay as they are. */
const KEPT = `${QUOTED}|\\b(?:var|let|const)\\s+location\\b|`;
/** A `\`, `&` or `]` before a question mark belongs to a regular expression, as in /\?location=/. */
const LOCATION_CHANGE = new RegExp(
  KEPT + /(^|[\s;{}(),:=]|=>|[\\&\]]?\?)location(\s*)(=(?![=>])|(?:[-+*/%^|&]|\|\||&&|\?\?)=)/.source,
  'g',
);
const RETURNED_THIS = '(\\breturn\\s+)this\\b(?!\\$|\\s*[.[])';

/** Fields are `private` and not `#`, which is slow in older browsers. */
export class EvaluatedCode {
  private readonly settings: PageSettings;
  private readonly mention: RegExp;
  private readonly passedThis: RegExp;
  private readonly declarations: readonly (readonly [name: string, pattern: RegExp])[];
  private readonly isListed: RegExp;
  private readonly listParts: RegExp;

  constructor(settings: PageSettings) {
    const { standIns } = settings;
    const names = standIns.join('|');
    const passed = `(^|[^\\w$.|/\\\\])this(?=\\s*(?:[,;)}]|$|[=!]==?|\\.\\s*(?:${names})\\b))`;
    const listed = `,\\s*(${names})(?=\\s*(?:=(?![=>])|[,;}\\n]|$))`;
    this.settings = settings;
    this.mention = new RegExp(`\\b(?:${names}|eval|return\\s+this)\\b`);
    this.passedThis = new RegExp(`${KEPT}${RETURNED_THIS}|${passed}`, 'g');
    this.declarations = standIns.map((name) => [name, new RegExp(`\\bvar\\s+(?:[\\w$]+\\s*,\\s*)*${name}\\b`)]);
    this.isListed = new RegExp(listed);
    this.listParts = new RegExp(`${QUOTED}|([([{])|([)\\]}])|(;)|\\b(var)\\b|${listed}`, 'g');
  }

  /** Whether the code may see the difference between the window and its stand-in. */
  mentionsWindow(code: string): boolean {
    return this.mention.test(code);
  }

  rewritten(code: string): string {
    return this.withChangedLocation(this.withCheckedThis(code));
  }

  /** Without this rewriting, `location = x` would overwrite the stand-in instead of navigating. */
  withChangedLocation(code: string): string {
    if (code.indexOf('location') < 0) return code;
    const { checkLocation, changedLocation } = this.settings;
    return code.replace(LOCATION_CHANGE, (all, before: string | undefined, space: string, operator: string) => {
      if (before === undefined || /^[\\&\]]/.test(before)) return all;
      return before + (operator === '=' ? `location${space}= ${checkLocation}` : changedLocation + space + operator);
    });
  }

  /** Makes `this` the stand-in where it is the window. */
  private withCheckedThis(code: string): string {
    if (code.indexOf('this') < 0) return code;
    return code.replace(
      this.passedThis,
      (all, returning: string | undefined, before: string | undefined, at: number) => {
        const start = returning === undefined ? before : returning;
        // `new this` in a class stays as it is.
        const isMade =
          returning === undefined &&
          before !== undefined &&
          /\bnew\s+$/.test(code.slice(Math.max(0, at - 16), at + before.length));
        return start === undefined || isMade ? all : start + CHECK_THIS;
      },
    );
  }

  /**
   * The names of stand-ins that the code itself declares at its top. The block around the code must not declare them
   * too.
   */
  declaredNames(code: string): string[] {
    const declared = this.declarations.filter(([, pattern]) => pattern.test(code)).map(([name]) => name);
    return declared.concat(this.listedNames(code));
  }

  /** Names after the first in a list of `var`. A name in brackets belongs to a value. */
  private listedNames(code: string): string[] {
    const names: string[] = [];
    if (!this.isListed.test(code)) return names;
    let depth = 0;
    let isList = false;
    code.replace(this.listParts, (all, opening, closing, end, list, name) => {
      if (opening) depth++;
      else if (closing) depth--;
      else if (depth === 0 && (end || list)) isList = !end;
      else if (depth === 0 && isList && name) names.push(name);
      return all;
    });
    return names;
  }
}
