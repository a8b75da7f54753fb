/** The geohash cells that a bounding box touches. */

import { type ScalarFunction, ScalarRefusal } from './definition.ts'

const LETTERS = '0123456789bcdefghjkmnpqrstuvwxyz'
const PRECISION_MAX = 12
const CELLS_MAX = 10_000

/** The bits of longitude and latitude in a hash of `precision` letters. */
function bitsOf(precision: number): { readonly lon: number; readonly lat: number } {
  const bits = precision * 5
  return { lon: Math.ceil(bits / 2), lat: Math.floor(bits / 2) }
}

/** The hash of a grid cell: the bits of column and row interleaved, five to a letter. */
function hashOf(column: number, row: number, precision: number): string {
  const { lon, lat } = bitsOf(precision)
  let hash = ''
  let letter = 0
  for (let bit = 0; bit < precision * 5; bit += 1) {
    const at = bit >> 1
    const value =
      bit % 2 === 0
        ? Math.floor(column / 2 ** (lon - 1 - at))
        : Math.floor(row / 2 ** (lat - 1 - at))
    letter = letter * 2 + (value % 2)
    if (bit % 5 === 4) {
      hash += LETTERS[letter] ?? ''
      letter = 0
    }
  }
  return hash
}

/** The grid cell of a degree; degrees outside the globe count as its edge. */
function cellAt(degree: number, range: number, bits: number): number {
  const count = 2 ** bits
  return Math.min(Math.max(Math.floor(((degree + range / 2) / range) * count), 0), count - 1)
}

type GeohashBox = readonly [
  west: number,
  south: number,
  east: number,
  north: number,
  letters: bigint,
]

/** Column by column from the south-west; precision is clamped to 1 to 12. */
function geohashesInBox(...[west, south, east, north, letters]: GeohashBox): readonly string[] {
  const requested = Number(letters)
  const precision = requested < 1 || requested > PRECISION_MAX ? PRECISION_MAX : requested
  if (!(west <= east && south <= north)) return []
  const { lon, lat } = bitsOf(precision)
  const columns = [cellAt(west, 360, lon), cellAt(east, 360, lon)] as const
  const rows = [cellAt(south, 180, lat), cellAt(north, 180, lat)] as const
  const [width, height] = [columns[1] - columns[0] + 1, rows[1] - rows[0] + 1]
  if (width * height > CELLS_MAX)
    throw new ScalarRefusal(`geohashesInBox is limited to ${CELLS_MAX} cells`)
  return Array.from({ length: width * height }, (_, index) =>
    hashOf(columns[0] + Math.floor(index / height), rows[0] + (index % height), precision),
  )
}

export const GEOHASHES: readonly ScalarFunction[] = [
  {
    name: 'js_geohashes_in_box',
    takes: ['number', 'number', 'number', 'number', 'integer'],
    gives: { list: 'text' },
    compute: geohashesInBox,
  },
]
