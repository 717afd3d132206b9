/**
 * Removes session ids from paths and queries. They would give each visit of a crawler a different key.
 *
 * Only the last session id of each kind is removed, wherever it is: the rules match text, not parameters (`mysid=<32>`
 * loses `sid=<32>`). The code searches from known anchors, because the same rules as regular expressions would take
 * quadratic time on hostile input.
 *
 * Both functions take lower-case ASCII.
 */

const PATH_SESSIONS = [/\/\((?:[a-z]\([0-9a-z]{24}\))+\)\//g, /\/\([0-9a-z]{24}\)\//g];

/** Removes ASP.NET session segments, `/(s(<24>))/` and `/(<24>)/`, from a path that goes on to an `.aspx` page. */
export function withoutPathSession(path: string): string {
  if (!path.includes('/(') || !path.includes('.aspx')) return path;
  for (const pattern of PATH_SESSIONS) path = withoutLastSegment(path, pattern);
  return path;
}

function withoutLastSegment(path: string, pattern: RegExp): string {
  let from = -1;
  let to = -1;
  let page = -1;
  let question = -1;
  pattern.lastIndex = 0;
  for (let match = pattern.exec(path); match; match = pattern.exec(path)) {
    const end = match.index + match[0].length;
    // The slash that ends one segment begins the next.
    pattern.lastIndex = end - 1;
    if (page < end + 1) page = indexOrEnd(path, '.aspx', end + 1);
    if (page === path.length) break;
    if (question < end) question = indexOrEnd(path, '?', end);
    if (question < page) continue;
    from = match.index + 1;
    to = end;
  }
  return from < 0 ? path : path.slice(0, from) + path.slice(to);
}

function indexOrEnd(text: string, part: string, from: number): number {
  const at = text.indexOf(part, from);
  return at < 0 ? text.length : at;
}

const ALPHANUMERIC_32 = /[0-9a-z]{32}(?=&|$)/y;
const ASP_SESSION_REST = /[a-z]{8}=[a-z]{24}(?=&|$)/y;

/** Removes the session ids of Java, PHP, ASP and ColdFusion from a query. */
export function withoutQuerySession(query: string): string {
  if (!query.includes('sid=') && !query.includes('sessionid') && !query.includes('cfid=')) return query;
  query = withoutLastId(query, 'jsessionid=', ALPHANUMERIC_32);
  query = withoutLastId(query, 'phpsessid=', ALPHANUMERIC_32);
  query = withoutLastId(query, 'sid=', ALPHANUMERIC_32);
  query = withoutLastId(query, 'aspsessionid', ASP_SESSION_REST);
  return withoutColdFusionId(query);
}

function withoutLastId(query: string, name: string, rest: RegExp): string {
  for (let at = query.lastIndexOf(name); at >= 0; at = at === 0 ? -1 : query.lastIndexOf(name, at - 1)) {
    rest.lastIndex = at + name.length;
    if (rest.test(query)) return cut(query, at, rest.lastIndex);
  }
  return query;
}

/** The pair `cfid=...&cftoken=...`, in this order and side by side. */
function withoutColdFusionId(query: string): string {
  const token = '&cftoken=';
  for (let at = query.lastIndexOf(token); at > 0; at = query.lastIndexOf(token, at - 1)) {
    const valueAt = at + token.length;
    if (valueAt >= query.length || query[valueAt] === '&') continue;
    const partAt = query.lastIndexOf('&', at - 1) + 1;
    const idAt = query.slice(partAt, at - 1).lastIndexOf('cfid=');
    if (idAt >= 0) return cut(query, partAt + idAt, indexOrEnd(query, '&', valueAt));
  }
  return query;
}

/** Removes [from, to) and the `&` after it; an `&` before it stays, as in the Internet Archive's keys. */
function cut(query: string, from: number, to: number): string {
  return query.slice(0, from) + query.slice(to + 1);
}
