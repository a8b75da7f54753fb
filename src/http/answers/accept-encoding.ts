/** Reads the Accept-Encoding header. */

/** Whether a client accepts a coding: listed with a weight above 0, or covered by `*`. */
export function accepts(accept_encoding: string | null, coding: 'br' | 'gzip' | 'zstd'): boolean {
  if (accept_encoding === null) return false
  const weights = new Map(accept_encoding.split(',').map(readCoding))
  return (weights.get(coding) ?? weights.get('*') ?? 0) > 0
}

/** `gzip;q=0.5` → `['gzip', 0.5]`. */
function readCoding(text: string): [name: string, weight: number] {
  const [listed = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase())
  const weight = parameters.find((part) => part.startsWith('q='))?.slice('q='.length)
  const name = listed === 'x-gzip' ? 'gzip' : listed
  return [name, weight === undefined ? 1 : Number(weight)]
}
