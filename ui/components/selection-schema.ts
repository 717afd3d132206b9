/** Which captures are meant: the fields of the forms that ask for it. */
import type { Schema } from './form-schema.ts';

const text = (description: string): Schema => ({ type: 'string', description });

/** Collections are chosen from those that there are; as long as they are not known, their names are typed. */
export function selectionSchema(collections: readonly string[]): Schema {
  return {
    type: 'object',
    description: 'All that is said must hold.',
    properties: {
      collection: { type: 'string', ...(collections.length > 0 && { enum: collections, unset: 'any' }) },
      url: text('This address and no other.'),
      prefix: text('For example https://example.org/private/, or *.example.org for a domain with all below it.'),
      from: text('For example 2024, 2024-03-01 or 20240301100000, in UTC.'),
      to: text('The whole of it is meant: 2024 ends with the year.'),
      mime: text('For example text/html, or image/* for all images.'),
      status: text('For example 404, or 4xx for all from 400 to 499.'),
      key: text('All captures of one content, wherever they are.'),
    },
  };
}
