/**
 * Converts ARC records to WARC records, after the guidelines of the field. One file becomes one file, the date of
 * capture is kept, and the version block becomes a metadata record. A document that is an HTTP message becomes a
 * response. Anything else, like a DNS answer, becomes a resource. When the date of the ARC record is not a time, the
 * WARC record has no date.
 */
import type { Digest, IdSource } from '../../base/index.ts';
import type { NewRecord } from './new-record.ts';
import { type Field, type RecordHead, SOURCE_DATE_FIELD } from './record-head.ts';

export type ArcConversion = {
  readonly newId: IdSource;
  /** Record id of the warcinfo record at the beginning of the new file. */
  readonly warcinfoId: string;
};

export function convertArcHead(
  head: RecordHead,
  document: { isHttp: boolean; payloadDigest: Digest; blockDigest: Digest },
  conversion: ArcConversion,
): NewRecord {
  const address = head.get('warc-ip-address') ?? '';
  const fields: Field[] = [{ name: 'WARC-Warcinfo-ID', value: conversion.warcinfoId }];
  const sourceDate = head.get(SOURCE_DATE_FIELD);
  if (sourceDate !== undefined) fields.push({ name: SOURCE_DATE_FIELD, value: sourceDate });
  if (head.type === 'filedesc') {
    return {
      type: 'metadata',
      recordId: conversion.newId(),
      date: head.date,
      targetUri: head.targetUri,
      blockDigest: document.blockDigest,
      contentType: head.get('arc-mime') || 'text/plain',
      fields,
    };
  }
  if (/^[0-9a-f.:]+$/i.test(address) && address !== '0.0.0.0')
    fields.unshift({ name: 'WARC-IP-Address', value: address });
  return {
    type: document.isHttp ? 'response' : 'resource',
    recordId: conversion.newId(),
    date: head.date,
    targetUri: head.targetUri,
    payloadDigest: document.payloadDigest,
    blockDigest: document.blockDigest,
    contentType: document.isHttp ? 'application/http; msgtype=response' : head.get('arc-mime') || undefined,
    fields,
  };
}
