/**
 * The media type that a Content-Type names, without its parameters, in lower case. Some servers write the type twice in
 * one field.
 */
export function bareMime(contentType: string): string {
  const text = contentType.trimStart();
  const end = text.search(/[;,\s]/);
  return (end < 0 ? text : text.slice(0, end)).toLowerCase();
}
