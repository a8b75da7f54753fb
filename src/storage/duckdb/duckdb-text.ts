/** Texts as DuckDB literals, where parameters are not allowed: settings, file names and keys inside macros. */

/** A text as an SQL literal; the engine's parser ends at a NUL, so that one is spelled out. */
export function textLiteral(text: string): string {
  const parts = text.split('\u0000').map((part) => `'${part.replaceAll("'", "''")}'`)
  return parts.length === 1 ? parts.join('') : `(${parts.join(' || chr(0) || ')})`
}

/** A list of texts as an SQL literal. */
export function textList(texts: readonly string[]): string {
  return `[${texts.map(textLiteral).join(', ')}]`
}
