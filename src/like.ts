/** Patterns of LIKE and ILIKE. */

/** Escapes the wildcards of a text that a pattern contains. */
export const escapeLike = (text: string): string => text.replaceAll(/[\\%_]/g, String.raw`\$&`)
