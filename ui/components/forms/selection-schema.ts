/** The fields of forms that select captures. */
import type { Schema } from './form-schema.ts';

const text = (description: string): Schema => ({ type: 'string', description });

/** Collections are chosen from a list. Until the list is known, their names are typed. */
export function selectionSchema(collections: readonly string[]): Schema {
  return {
    type: 'object',
    description: 'Captures must match every field that you fill in.',
    properties: {
      collection: { type: 'string', ...(collections.length > 0 && { enum: collections, unset: 'any' }) },
      url: text('Only captures of exactly this address.'),
      prefix: text('For example https://example.org/private/, or *.example.org for a domain with its subdomains.'),
      from: text('For example 2024, 2024-03-01 or 20240301100000, in UTC.'),
      to: text('The end of the period: 2024 means until the end of 2024.'),
      mime: text('For example text/html, or image/* for all images.'),
      status: text('For example 404, or 4xx for 400 to 499.'),
      key: text('All captures of one content, at any address.'),
    },
  };
}
