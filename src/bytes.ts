/** Sizes in bytes, and bytes up to a size. */

export const KIB = 1024
export const MIB = 1024 * KIB

/**
 * Reads what another server sends to its end. Null when it is longer: it may not end at all, and a few bytes may unpack to
 * gigabytes.
 */
export async function readAtMost(
  { body }: Pick<Response, 'body'>,
  bytes_max: number,
): Promise<Buffer<ArrayBuffer> | null> {
  const pieces: Uint8Array[] = []
  let length = 0
  for await (const piece of body ?? []) {
    length += piece.length
    if (length > bytes_max) return null
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}
