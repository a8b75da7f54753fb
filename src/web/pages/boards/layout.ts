/** The order and the size of tiles on a board. */
import type { BoardTile, TileLayout } from '../../api/boards.ts'

export const COLUMNS = 12
const WIDTH = 6
const HEIGHT = 5

/** The layout of a tile; half of the board for a tile without one. */
export function layoutOf({ layouts }: BoardTile): TileLayout {
  const { x = 0, y = 0, w = WIDTH, h = HEIGHT } = layouts.sm ?? {}
  return { x, y, w: Math.min(COLUMNS, Math.max(1, w)), h: Math.max(1, h) }
}

/** The tiles as they are read: by rows, then from the left. */
export function orderTiles(tiles: readonly BoardTile[]): readonly BoardTile[] {
  return tiles.toSorted((one, other) => {
    const [left, right] = [layoutOf(one), layoutOf(other)]
    return left.y - right.y || left.x - right.x || one.id - other.id
  })
}

/** Tiles in an order, each with the layout it gets when rows are filled from the left. */
export function placeTiles(tiles: readonly BoardTile[]): readonly BoardTile[] {
  let [x, y, row_height] = [0, 0, 0]
  return tiles.map((tile) => {
    const { w, h } = layoutOf(tile)
    if (x + w > COLUMNS) [x, y, row_height] = [0, y + row_height, 0]
    const sm = { x, y, w, h }
    x += w
    row_height = Math.max(row_height, h)
    return { ...tile, layouts: { ...tile.layouts, sm } }
  })
}

/** The tiles with one of them moved to the place of another. */
export function moveTile(
  tiles: readonly BoardTile[],
  moved_id: number,
  target: number,
): readonly BoardTile[] {
  const moved = tiles.find(({ id }) => id === moved_id)
  if (moved === undefined) return tiles
  const others = tiles.filter(({ id }) => id !== moved_id)
  return placeTiles([...others.slice(0, target), moved, ...others.slice(target)])
}

/** WIDTHS: what a tile can be, in columns. */
export const WIDTHS = [
  { w: 4, text: 'A third' },
  { w: 6, text: 'Half' },
  { w: 8, text: 'Two thirds' },
  { w: 12, text: 'Whole width' },
] as const

/** The tiles with one of another width. */
export function resizeTile(
  tiles: readonly BoardTile[],
  id: number,
  w: number,
): readonly BoardTile[] {
  return placeTiles(
    tiles.map((tile) =>
      tile.id === id
        ? { ...tile, layouts: { ...tile.layouts, sm: { ...layoutOf(tile), w } } }
        : tile,
    ),
  )
}
