/** The dialects of three CDX servers, and their defaults. docs/cdx.md has the differences in one table. */

export type CdxDialect = 'ia' | 'pywb' | 'outbackcdx';

export type CdxOutput = 'text' | 'json' | 'jsondict' | 'cdxj';

export type DialectFacts = {
  /** The default columns. */
  readonly fields: readonly string[];
  readonly output: CdxOutput;
  readonly isDigestLabelled: boolean;
  readonly originals: readonly [string, string, string];
};

const PLACE = ['length', 'offset', 'filename'];

export const DIALECTS: Readonly<Record<CdxDialect, DialectFacts>> = {
  ia: {
    fields: ['urlkey', 'timestamp', 'original', 'mimetype', 'statuscode', 'digest', 'length'],
    output: 'text',
    isDigestLabelled: false,
    originals: ['orig.length', 'orig.offset', 'orig.filename'],
  },
  pywb: {
    fields: ['urlkey', 'timestamp', 'url', 'mime', 'status', 'digest', ...PLACE],
    output: 'cdxj',
    isDigestLabelled: true,
    originals: ['orig.length', 'orig.offset', 'orig.filename'],
  },
  outbackcdx: {
    fields: [
      'urlkey',
      'timestamp',
      'original',
      'mimetype',
      'statuscode',
      'digest',
      'redirecturl',
      'robotflags',
      ...PLACE,
    ],
    output: 'text',
    isDigestLabelled: false,
    originals: ['originalLength', 'originalOffset', 'originalFilename'],
  },
};

export function isDialect(text: string): text is CdxDialect {
  return Object.hasOwn(DIALECTS, text);
}
