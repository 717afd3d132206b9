import assert from 'node:assert/strict';
import { test } from 'node:test';
import { robotsDirectives, robotsTagDirectives } from './robots-directives.ts';

const flagsOf = ({ nofollow, noindex }: { nofollow: boolean; noindex: boolean }) =>
  `${nofollow ? 'F' : '-'}${noindex ? 'I' : '-'}`;

test('a directive name in the value of another directive is ignored', () => {
  for (const [content, expected] of [
    ['', '--'],
    ['index, follow', '--'],
    ['nofollow', 'F-'],
    ['NOINDEX,NoFollow', 'FI'],
    ['noindex nofollow', 'FI'],
    ['none', 'FI'],
    ['index,follow,max-image-preview:none', '--'],
    ['max-image-preview: none, max-snippet:-1, nofollow', 'F-'],
    ['unavailable_after: 25-Aug-2026 15:00:00 EST, noindex', '-I'],
  ] as const)
    assert.equal(flagsOf(robotsDirectives(content)), expected, content);
});

test('directives for other robots are ignored', () => {
  for (const [value, expected] of [
    ['nofollow', 'F-'],
    ['googlebot: nofollow', '--'],
    ['googlebot: nofollow, noindex', '--'],
    ['noindex, otherbot: nofollow', '-I'],
    ['otherbot: noindex, pinakes: nofollow', 'F-'],
    ['Pinakes : none', 'FI'],
    ['max-image-preview:none, nofollow', 'F-'],
    ['unavailable_after: 25 Jun 2026 15:00:00 PST, noindex', '-I'],
    ['unavailable_after: Friday, 26-Jun-26 15:00:00 UTC, noindex', '-I'],
  ] as const)
    assert.equal(flagsOf(robotsTagDirectives(value)), expected, value);
});
