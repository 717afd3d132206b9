/**
 * Media types, and the meaning of `type:` in every query: a media type, a prefix with a star (`image/*`), or one word
 * for media types that people consider the same kind.
 */

const OPEN_XML = 'application/vnd.openxmlformats-officedocument.';
const OPEN_DOCUMENT = 'application/vnd.oasis.opendocument.';

/** Media types of the office documents that are indexed, in lower case. */
export const OFFICE_MIMES: readonly string[] = [
  ...['document', 'template'].map((name) => `${OPEN_XML}wordprocessingml.${name}`),
  ...['presentation', 'slideshow', 'template'].map((name) => `${OPEN_XML}presentationml.${name}`),
  ...['sheet', 'template'].map((name) => `${OPEN_XML}spreadsheetml.${name}`),
  'application/vnd.ms-word.document.macroenabled.12',
  'application/vnd.ms-powerpoint.presentation.macroenabled.12',
  'application/vnd.ms-excel.sheet.macroenabled.12',
  ...['text', 'presentation', 'spreadsheet'].flatMap((name) => [
    OPEN_DOCUMENT + name,
    `${OPEN_DOCUMENT}${name}-template`,
  ]),
];

const KINDS: Readonly<Record<string, readonly string[]>> = {
  html: ['text/html', 'application/xhtml+xml', 'application/vnd.wap.xhtml+xml'],
  pdf: ['application/pdf', 'application/x-pdf'],
  office: OFFICE_MIMES,
  text: ['text/plain', 'text/markdown'],
  feed: ['application/rss+xml', 'application/atom+xml', 'application/rdf+xml', 'application/feed+json'],
  css: ['text/css'],
  script: ['application/javascript', 'text/javascript', 'application/x-javascript', 'application/ecmascript'],
  json: ['application/json', 'application/ld+json'],
  svg: ['image/svg+xml'],
  xml: ['application/xml', 'text/xml'],
  image: ['image/*'],
  audio: ['audio/*'],
  video: ['video/*'],
  font: ['font/*'],
};

/** The words for kinds of media types. */
export const MEDIA_KINDS: readonly string[] = Object.keys(KINDS);

/**
 * The media types, or prefixes that end with a star, that a value of `type:` means; undefined when the value cannot
 * mean a media type.
 */
export function mediaTypesOf(value: string): readonly string[] | undefined {
  const type = value.toLowerCase();
  if (Object.hasOwn(KINDS, type)) return KINDS[type];
  if (type.endsWith('/')) return [`${type}*`];
  return type.includes('/') ? [type] : undefined;
}

export const MEDIA_KIND_ADVICE = `a type is ${MEDIA_KINDS.join(', ')}, or a media type: text/html, image/*`;

/**
 * The media type that a Content-Type names, without its parameters, in lower case. Some servers write the type twice in
 * one field.
 */
export function bareMime(contentType: string): string {
  const text = contentType.trimStart();
  const end = text.search(/[;,\s]/);
  return (end < 0 ? text : text.slice(0, end)).toLowerCase();
}
