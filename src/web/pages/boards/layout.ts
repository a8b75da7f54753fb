/** The order and the size of tiles on a board. */
import type { BoardTile, TileLayout } from '../../api/boards.ts'

export const COLUMNS = 12
const WIDTH = 6
const HEIGHT = 5
const TEXT_HEIGHT = 2
const HEIGHT_MAX = 20
const HEIGHT_MIN = 2
const WIDTH_MIN = 3
/** The height of one row. */
export const ROW_PX = 80

/** In columns and rows. */
export type TileSize = Pick<TileLayout, 'h' | 'w'>

/** The layout of a tile; without one it is half as wide as the board, and a text is low. */
export function layoutOf({ layouts, text }: Pick<BoardTile, 'layouts' | 'text'>): TileLayout {
  const { x = 0, y = 0, w = WIDTH, h = text === null ? HEIGHT : TEXT_HEIGHT } = layouts.sm ?? {}
  return { x, y, w: Math.min(COLUMNS, Math.max(1, w)), h: Math.max(1, h) }
}

/** The tiles as they are read: by rows, then from the left; those without a layout are last. */
export function orderTiles(tiles: readonly BoardTile[]): readonly BoardTile[] {
  return tiles.toSorted((one, other) => {
    const [left, right] = [layoutOf(one), layoutOf(other)]
    const last = Number(hasPlace(other)) - Number(hasPlace(one))
    return last || left.y - right.y || left.x - right.x || one.id - other.id
  })
}

const hasPlace = ({ layouts }: BoardTile): boolean => layouts.sm !== undefined

/** Tiles in an order, each with the layout it gets when rows are filled from the left. */
export function placeTiles(tiles: readonly BoardTile[]): readonly BoardTile[] {
  let [x, y, row_height] = [0, 0, 0]
  return tiles.map((tile) => {
    const { w, h } = layoutOf(tile)
    if (x + w > COLUMNS) [x, y, row_height] = [0, y + row_height, 0]
    const sm = { ...tile.layouts.sm, x, y, w, h }
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

/** WIDTHS: the widths that a tile can have, in columns. */
export const WIDTHS = [
  { w: 4, text: 'A third of the width' },
  { w: 6, text: 'Half of the width' },
  { w: 8, text: 'Two thirds of the width' },
  { w: 12, text: 'Whole width' },
] as const

/** A size that a tile can have. */
export function fitSize({ w, h }: TileSize): TileSize {
  return { w: clamp(w, WIDTH_MIN, COLUMNS), h: clamp(h, HEIGHT_MIN, HEIGHT_MAX) }
}

const clamp = (value: number, min: number, max: number): number =>
  Math.min(max, Math.max(min, value))

/** The tiles with one of another size. */
export function resizeTile(
  tiles: readonly BoardTile[],
  id: number,
  size: TileSize,
): readonly BoardTile[] {
  return placeTiles(
    tiles.map((tile) =>
      tile.id === id
        ? {
            ...tile,
            layouts: {
              ...tile.layouts,
              sm: { ...tile.layouts.sm, ...layoutOf(tile), ...fitSize(size) },
            },
          }
        : tile,
    ),
  )
}
