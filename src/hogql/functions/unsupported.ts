/** Functions that other servers of HogQL know and this one cannot answer: they are refused by name, never guessed. */

/** Names of functions that are not supported. */
const IMPOSSIBLE: readonly RegExp[] = [
  /^(h3\w+|geoToH3|stringToH3)$/,
  /^multiFuzzyMatch(Any|AnyIndex|AllIndices)$/,
  /^reinterpretAsU?Int256$/,
  /^(embedText|jev)$/,
  // No exchange rates are kept here.
  /^convertCurrency$/,
]

/** Whether the name is known to be beyond this server. */
export function isImpossible(name: string): boolean {
  return IMPOSSIBLE.some((pattern) => pattern.test(name))
}
