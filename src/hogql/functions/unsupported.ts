/** Functions of other HogQL servers that cannot be supported here: refused by name, never approximated. */

/** Patterns of their names. Adding one means adding a line. */
const UNSUPPORTED: readonly RegExp[] = [
  /^(h3\w+|geoToH3|stringToH3)$/,
  /^multiFuzzyMatch(Any|AnyIndex|AllIndices)$/,
  /^reinterpretAsU?Int256$/,
  /^(embedText|jev)$/,
  // There are no exchange rates.
  /^convertCurrency$/,
]

/** Whether a name is known to be unsupported. */
export function isUnsupported(name: string): boolean {
  return UNSUPPORTED.some((pattern) => pattern.test(name))
}
