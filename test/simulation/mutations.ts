/**
 * Rules of the protocol that are taken away from the sources of the ledger and of the catalog in memory, while they are
 * loaded (mutate.ts). Each edit replaces a text that is in its file exactly once. Rules that can be taken away from
 * outside of the code are in without.ts.
 */
export type Edit = { readonly file: string; readonly from: string; readonly to: string };

export type Mutation = { readonly rule: string; readonly says: string; readonly edits: readonly Edit[] };

const LEDGER = 'src/ledger/';
const CATALOG = 'src/catalog/memory-catalog.ts';
const CATALOG_CHANGE = 'src/catalog/memory-change.ts';
const COLLECT = `${LEDGER}recovery/collect.ts`;
const ADOPT = `${LEDGER}recovery/adopt.ts`;
const ADOPT_RECORDS = `${LEDGER}recovery/adopt-records.ts`;
const SWAP = `${LEDGER}replacement/swap.ts`;
const DELETE = `${LEDGER}delete.ts`;
const SEAL = `${LEDGER}seal.ts`;

export const MUTATIONS: Readonly<Record<string, Mutation>> = {
  epoch: {
    rule: 'P1',
    says: 'who takes a lease over gets the same epoch, so the former holder is not kept away',
    edits: [{ file: CATALOG, from: '(held?.epoch ?? 0) + 1', to: 'held?.epoch ?? 1' }],
  },
  owner: {
    rule: 'P1',
    says: 'the attempts of the next owner of an embedded catalog begin where those of the owner before did',
    edits: [
      { file: `${LEDGER}segment-writer.ts`, from: 'return ownerNumber * ATTEMPTS_OF_OWNER + 1;', to: 'return 1;' },
    ],
  },
  listing: {
    rule: 'P3',
    says: 'others see a segment in the catalog from its first commit on',
    edits: [
      {
        file: 'src/catalog/memory-view.ts',
        from: '[...this.contents.segments.values()].sort(',
        to: '[...this.contents.segments.values()].filter(({ bytes }) => bytes > 0).sort(',
      },
    ],
  },
  'listing-lease': {
    rule: 'P3',
    says: 'a segment is listed although the lease has ended',
    edits: [
      {
        file: CATALOG,
        from: 'if (lease && !this.#isLiving(lease)) return undefined;\n    const { segments',
        to: 'const { segments',
      },
    ],
  },
  lease: {
    rule: 'C1',
    says: 'a commit does not check the lease',
    edits: [
      { file: CATALOG, from: "if (lease && !this.#isLiving(lease)) return { kind: 'fenced', why: 'lease' };", to: '' },
    ],
  },
  unknown: {
    rule: 'C6',
    says: 'a commit without an answer counts as stored',
    edits: [
      {
        file: `${LEDGER}segment-writer.ts`,
        from: "return { kind: 'unknown', error };",
        to: "return { kind: 'committed', lost: [], freed: 0 };",
      },
    ],
  },
  'seal-list': {
    rule: 'H1',
    says: 'a segment is sealed without fixing the list of its parts first',
    edits: [
      {
        file: SEAL,
        from: "row.state === 'sealing' ? row : await",
        to: "row.state === 'sealing' || sealing.freshFor === undefined ? row : await",
      },
      { file: SEAL, from: "assert(row.state === 'sealing', 'the list is fixed before it is joined');", to: '' },
    ],
  },
  'seal-parts': {
    rule: 'H1',
    says: 'the parts go before the segment is marked as sealed',
    edits: [
      {
        file: SEAL,
        from: 'const putNotes = isJoined ||',
        to: 'if (graceMs === 0 && !isJoined) await removeParts(store, row);\n  const putNotes = isJoined ||',
      },
    ],
  },
  'read-object': {
    rule: 'H1',
    says: 'readers do not read the object of a segment whose parts are gone',
    edits: [
      {
        file: `${LEDGER}part-store.ts`,
        from: 'if (!isMissing(error)) throw error;\n      return this.#volume.read(',
        to: 'throw error;\n      return this.#volume.read(',
      },
    ],
  },
  'heal-checks': {
    rule: 'H2',
    says: 'healing enters revisits without checking their contents',
    edits: [
      { file: ADOPT_RECORDS, from: '      referents,\n      deletions: matched,', to: '      deletions: matched,' },
      {
        file: `${LEDGER}own-records.ts`,
        from: "if (!block && named && unresolved === 'refuse') {",
        to: 'if (false) {',
      },
    ],
  },
  'heal-records': {
    rule: 'H2',
    says: 'healing cuts off the records beyond the committed length',
    edits: [
      {
        file: ADOPT_RECORDS,
        from: 'return { row, isCut: false };\n',
        to: 'return { row, isCut: false };\n  if (content.state !== "sealed") return { row, isCut: true };\n',
      },
    ],
  },
  'sealed-wins': {
    rule: 'H3',
    says: 'parts count although the sealed object is there',
    edits: [
      {
        file: `${LEDGER}recovery/heal-plan.ts`,
        from: '  if (object) {\n    if',
        to: '  if (object && !chain?.length) {\n    if',
      },
      {
        file: ADOPT,
        from: '...(found?.object ? parts && { parts: [] } : found?.parts.length && { parts: chain.map(partOf) }),',
        to: '...(chain.length > 0 ? { parts: chain.map(partOf) } : parts && { parts: [] }),',
      },
    ],
  },
  'open-parts': {
    rule: 'H4',
    says: 'the collector removes parts of open segments that no commit has named',
    edits: [{ file: COLLECT, from: "if (row && row.state !== 'sealed') continue;", to: '' }],
  },
  'living-leases': {
    rule: 'H4',
    says: 'the collector removes segments without a row although their lease is living',
    edits: [{ file: COLLECT, from: 'if (lease) return !(await', to: 'if (lease) return true || !(await' }],
  },
  day: {
    rule: 'H4',
    says: 'the collector does not wait a day',
    edits: [
      { file: COLLECT, from: 'if (seen === undefined) putNotes', to: 'if (false) putNotes' },
      { file: COLLECT, from: 'else if (clock() >= Number(seen) + UNLISTED_LIFE_MS)', to: 'else' },
    ],
  },
  archivist: {
    rule: 'H4',
    says: 'the collector takes every segment without a row for one of ours',
    edits: [
      {
        file: COLLECT,
        from: 'if (lease) return !(await catalog.leases()).some((row) => row.isLiving && isSame(row, lease));',
        to: 'return true;',
      },
    ],
  },
  'record-later': {
    rule: 'D1',
    says: 'the record of a deletion is written after the commit',
    edits: [
      {
        file: DELETE,
        from: 'writer.append(await writer.openFor(kind), encoder.encode(recordParts(record, block)));',
        to: '',
      },
      {
        file: DELETE,
        from: "case 'committed':\n",
        to: `case 'committed':
          writer.append(await writer.openFor(kind), encoder.encode(recordParts(record, block)));
          await writer.commit();\n`,
      },
    ],
  },
  'marks-of-places': {
    rule: 'D2',
    says: 'a mark is made of the offset of the record too',
    edits: [
      { file: `${LEDGER}mark.ts`, from: 'hash: idHash }: MarkedCapture', to: 'hash: idHash, place }: MarkedCapture' },
      {
        file: `${LEDGER}mark.ts`,
        from: 'time, idHash, content].join',
        to: 'time, idHash, content, place.offset].join',
      },
    ],
  },
  'swap-moves': {
    rule: 'K1',
    says: 'the swap enters captures that are not where the plan saw them any more',
    edits: [
      {
        file: CATALOG_CHANGE,
        from: '    if (now) {\n      captures.delete',
        to: '    if (now || true) {\n      captures.delete',
      },
      { file: CATALOG_CHANGE, from: 'this.#touch(now.block);', to: 'this.#touch(now?.block);' },
    ],
  },
  'removal-checks': {
    rule: 'R1',
    says: 'lease, note and row are not checked again before the old segment is removed',
    edits: [
      { file: SWAP, from: '    await this.#commits.commit({});\n    const isReplaced', to: '    const isReplaced' },
      {
        file: SWAP,
        from: 'if (!isReplaced || (await catalog.segmentByName(old)) || (await catalog.isAdopting()))',
        to: 'if (false)',
      },
    ],
  },
  belief: {
    rule: 'R1',
    says: 'a rebuild counts a replacement without a note about it',
    edits: [
      {
        file: `${LEDGER}recovery/adopt-survey.ts`,
        from: 'if (!isBelieved && replaces.some((old) => isThere(old) || this.segments.has(old))) return false;',
        to: '',
      },
    ],
  },
  'lease-life': {
    rule: 'R2',
    says: 'a lease does not belong to a life of the catalog',
    edits: [{ file: CATALOG, from: 'return incarnation === this.contents.incarnation && held', to: 'return held' }],
  },
  'leases-stay': {
    rule: 'R2',
    says: 'a new life does not end the leases of the last one',
    edits: [
      {
        file: CATALOG,
        from: 'for (const held of this.contents.leases.values()) held.expires = Number.NEGATIVE_INFINITY;',
        to: '',
      },
      {
        file: 'test/simulation/world.ts',
        from: 'for (const name of this.catalog.livingLeases()) this.catalog.expireLease(name);',
        to: '',
      },
    ],
  },
  'no-list': {
    rule: 'R2',
    says: 'what is not in the newest list counts too',
    edits: [
      { file: `${LEDGER}recovery/adopt-survey.ts`, from: 'if (!isOfNow && !isListed) continue;', to: '' },
      {
        file: `${LEDGER}recovery/adopt-survey.ts`,
        from: 'return !list || incarnation >= list.incarnation || list.notes.has(name);',
        to: 'return true;',
      },
    ],
  },
  'same-name': {
    rule: 'R3',
    says: 'what an earlier life left open is sealed under its own name',
    edits: [{ file: ADOPT, from: 'freshFor: this.#lease,', to: '' }],
  },
  'place-of-now': {
    rule: 'R4',
    says: 'cursors and snapshots hold the places of now',
    edits: [
      {
        file: `${LEDGER}replacement/root-places.ts`,
        from: 'return segment && (await this.runsOf(segment)).rootOf(offset);',
        to: 'return segment && { root: segment.name, sequence: sequenceOf(segment), offset };',
      },
    ],
  },
  'other-order': {
    rule: 'R5',
    says: 'each life of the catalog takes the segments in another order',
    edits: [
      {
        file: ADOPT,
        from: 'ended.sort(byStateAndName)',
        to: 'ended.sort((a, b) => (this.#lease.incarnation % 2 ? 1 : -1) * (a.row.name < b.row.name ? -1 : 1))',
      },
    ],
  },
  'open-first': {
    rule: 'R6',
    says: 'of several records of one capture, the one in an open segment is taken first',
    edits: [
      { file: ADOPT, from: 'return isParts(one) - isParts(other) ||', to: 'return isParts(other) - isParts(one) ||' },
    ],
  },
};
