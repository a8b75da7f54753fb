/** Mends for refusals that name a near name: `Perhaps you meant 'event'?`. */

/** A change of a text: the characters between two positions are replaced by another name. */
type TextFix = { readonly from: number; readonly to: number; readonly name: string }

const HINT = /Perhaps you meant ['"]([^'"()]{1,200})(?:\(\.\.\.\))?['"]\?/
const NAME = /^[\w$.]+/

/** The mend of a refusal at a place of a text; null when it names none. Of a call only its name changes. */
export function fixOf(
  text: string,
  fault: { readonly message: string; readonly start?: number | null },
): TextFix | null {
  const [, name] = HINT.exec(fault.message) ?? []
  const from = fault.start ?? null
  if (name === undefined || from === null) return null
  const [wrong] = NAME.exec(text.slice(from)) ?? []
  if (wrong === undefined) return null
  // Of `e.evnt` the hint names the last part.
  const last = name.includes('.') ? 0 : wrong.lastIndexOf('.') + 1
  return { from: from + last, to: from + wrong.length, name }
}
