/**
 * Rewrites code that scripts evaluate: a script that they make, the text of `eval` and of `Function`. The server
 * rewrites scripts by reading them token by token; here patterns have to do, as the text may be of any kind. Patterns
 * have no lookbehind, which older browsers cannot parse.
 */
import type { PageSettings } from './page-settings.ts';

/** The function of wombat that returns the stand-in for the window, and any other object as it is. */
export const CHECK_THIS = '_____WB$wombat$check$this$function_____(this)';

const QUOTED =
  /"[^"\\\n]*(?:\\[\s\S][^"\\\n]*)*"?|'[^'\\\n]*(?:\\[\s\S][^'\\\n]*)*'?|\x60[^\x60\\]*(?:\\[\s\S][^\x60\\]*)*\x60?/
    .source;
/** Strings and declarations of a variable of that name stay as they are. */
const KEPT = `${QUOTED}|\\b(?:var|let|const)\\s+location\\b|`;
/** Before a question mark, `\`, `&` and `]` are parts of a regular expression: /\?location=/. */
const LOCATION_CHANGE = new RegExp(
  KEPT + /(^|[\s;{}(),:=]|=>|[\\&\]]?\?)location(\s*)(=(?![=>])|(?:[-+*/%^|&]|\|\||&&|\?\?)=)/.source,
  'g',
);
const RETURNED_THIS = '(\\breturn\\s+)this\\b(?!\\$|\\s*[.[])';

/** Fields are private by type only: `#` is expensive in the older browsers. */
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

  /** Without this, `location = x` would set the stand-in and lead nowhere. */
  withChangedLocation(code: string): string {
    if (code.indexOf('location') < 0) return code;
    const { checkLocation, changedLocation } = this.settings;
    return code.replace(LOCATION_CHANGE, (all, before: string | undefined, space: string, operator: string) => {
      if (before === undefined || /^[\\&\]]/.test(before)) return all;
      return before + (operator === '=' ? `location${space}= ${checkLocation}` : changedLocation + space + operator);
    });
  }

  /** Where `this` is the window, it becomes the stand-in. */
  private withCheckedThis(code: string): string {
    if (code.indexOf('this') < 0) return code;
    return code.replace(
      this.passedThis,
      (all, returning: string | undefined, before: string | undefined, at: number) => {
        const start = returning === undefined ? before : returning;
        // `new this`, in a class.
        const isMade =
          returning === undefined &&
          before !== undefined &&
          /\bnew\s+$/.test(code.slice(Math.max(0, at - 16), at + before.length));
        return start === undefined || isMade ? all : start + CHECK_THIS;
      },
    );
  }

  /** The stand-ins that the code declares at its top. The block around it must not declare them too. */
  declaredNames(code: string): string[] {
    const declared = this.declarations.filter(([, pattern]) => pattern.test(code)).map(([name]) => name);
    return declared.concat(this.listedNames(code));
  }

  /** Names further on in a list of `var`. A name inside of brackets belongs to a value. */
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
