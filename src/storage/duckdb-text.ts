/** Texts as DuckDB literals, for what cannot be bound: settings, file names and keys inside macros. */

/** A text as an SQL literal. */
export function textLiteral(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

/** A list of texts as an SQL literal. */
export function textList(texts: readonly string[]): string {
  return `[${texts.map(textLiteral).join(', ')}]`
}
