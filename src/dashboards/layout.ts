/** Positions of tiles on a dashboard's grid of twelve columns. */
import { Refusal, unknownId } from '../errors.ts'
import type { Json } from '../projects/tables.ts'

const COLUMNS = 12
/** Default size of a tile: half the width of the dashboard. */
const SIZE = { w: 6, h: 5 } as const

type GridCell = { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
type TileLayouts = { readonly id: number; readonly layouts: Json }

/** Compares tiles by row, then column; tiles without a position come last, in stable order. */
export function comparePlaces(one: Json, other: Json): number {
  const [a, b] = [placeOf(one), placeOf(other)]
  return compareNumbers(a.y, b.y) || compareNumbers(a.x, b.x)
}

/**
 * Arranges tiles in a new order, row by row, each in its size. Tiles missing in `order` follow in their old
 * order. Refuses ids that the dashboard does not have.
 */
export function layoutTiles(tiles: readonly TileLayouts[], order: readonly number[]) {
  const by_id = new Map(tiles.map((tile) => [tile.id, tile]))
  const wanted = new Set(order)
  const named = [...wanted].map((id) => {
    const tile = by_id.get(id)
    if (tile !== undefined) return tile
    throw new Refusal('does_not_exist', unknownId(id), { attr: 'tile_order' })
  })
  const others = tiles.filter(({ id }) => !wanted.has(id))
  let [x, y, row_h] = [0, 0, 0]
  return [...named, ...others].map(({ id, layouts }) => {
    const { w, h } = placeOf(layouts)
    if (x + w > COLUMNS) [x, y, row_h] = [0, y + row_h, 0]
    const sm = { ...Object(Object(layouts).sm), x, y, w, h }
    x += w
    row_h = Math.max(row_h, h)
    return { id, layouts: { ...Object(layouts), sm }, is_deleted: false }
  })
}

function placeOf(layouts: Json): GridCell {
  const kept: Partial<Record<keyof GridCell, unknown>> = Object(Object(layouts).sm)
  return {
    x: numberOr(kept.x, Infinity),
    y: numberOr(kept.y, Infinity),
    w: Math.min(COLUMNS, numberOr(kept.w, SIZE.w)),
    h: numberOr(kept.h, SIZE.h),
  }
}

const compareNumbers = (a: number, b: number): number => (a < b ? -1 : a > b ? 1 : 0)

const numberOr = (value: unknown, otherwise: number): number =>
  typeof value === 'number' ? value : otherwise
