/**
 * The modifier of a replay URL, `mp_` in `/web/20240301100000mp_/https://example.org/`. It says what the answer is used
 * for.
 *
 *     none, mp_       a page                          js_  esm_        script, module script
 *     if_  fr_        a page in a frame               cs_              style sheet
 *     id_             the stored bytes unchanged      im_  oe_         image; any other embedded thing
 *     wkr_ wkrm_      script of a worker, as module   wkrf_            what a worker fetches
 *     sw_             script of a service worker
 *
 * People use the modifiers in the left column and `js_`, `cs_`, `im_`, `oe_`. Rewriting and wombat write the other
 * modifiers.
 */

const MODIFIERS = [
  '',
  'id_',
  'mp_',
  'if_',
  'fr_',
  'js_',
  'esm_',
  'cs_',
  'im_',
  'oe_',
  'wkr_',
  'wkrm_',
  'wkrf_',
  'sw_',
] as const;

export type Modifier = (typeof MODIFIERS)[number];

const KNOWN: ReadonlySet<string> = new Set(MODIFIERS);

/** Modifiers of other tools with the meaning of one of these. */
const SYNONYMS: Readonly<Record<string, Modifier>> = { fw_: 'if_', bn_: '', dl_: 'id_', ws_: 'oe_' };

export function modifierOf(text: string): Modifier | undefined {
  if (KNOWN.has(text)) return text as Modifier;
  return Object.hasOwn(SYNONYMS, text) ? SYNONYMS[text] : undefined;
}

/** Whether the answer is a document that a window or a frame shows. */
export function isPageModifier(modifier: Modifier): boolean {
  return modifier === '' || modifier === 'mp_' || modifier === 'if_' || modifier === 'fr_';
}
