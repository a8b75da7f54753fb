/** Tiles of dashboards: insights, and texts between them. */
import { and, asc, eq, inArray, isNotNull, type SQL, sql } from 'drizzle-orm'
import { Refusal, unknownId } from '../errors.ts'
import type { Json } from '../projects/tables.ts'
import type { ControlDB } from '../storage/control/control-db.ts'
import { comparePlaces } from './layout.ts'
import { dashboard_tiles, dashboards, insights } from './tables.ts'

export type Tile = typeof dashboard_tiles.$inferSelect

type TileReader = Pick<ControlDB, 'select'>
type TileWriter = Pick<ControlDB, 'delete' | 'insert' | 'select' | 'update'>

/** An edit of a tile. Without an id it creates a text tile. */
export type TileChanges = {
  readonly id?: number | undefined
  readonly body?: string | undefined
  readonly layouts?: Json | undefined
  readonly color?: string | null | undefined
  readonly show_description?: boolean | null | undefined
  readonly is_deleted: boolean
}

/** The most tiles of a dashboard. */
const TILES_MAX = 500

/** Lists a dashboard's tiles in layout order, without those of deleted insights. */
export function listTiles(db: TileReader, dashboard_id: number): readonly Tile[] {
  return db
    .select({ tile: dashboard_tiles, is_gone: insights.deleted })
    .from(dashboard_tiles)
    .leftJoin(insights, eq(insights.id, dashboard_tiles.insight_id))
    .where(eq(dashboard_tiles.dashboard_id, dashboard_id))
    .orderBy(asc(dashboard_tiles.id))
    .all()
    .flatMap(({ tile, is_gone }) => (is_gone === true ? [] : tile))
    .toSorted((a, b) => comparePlaces(a.layouts, b.layouts))
}

/** Returns a lookup of the dashboards and tiles of a project's insights; each call reads those of one insight. */
export function readTilesOfInsights(
  db: TileReader,
  project_id: number,
): (insight_id: number) => readonly { readonly id: number; readonly dashboard_id: number }[] {
  const { id, dashboard_id } = dashboard_tiles
  const its = and(
    eq(dashboards.project_id, project_id),
    eq(dashboards.deleted, false),
    eq(dashboard_tiles.insight_id, sql.placeholder('insight_id')),
  )
  const tiles = db
    .select({ id, dashboard_id })
    .from(dashboard_tiles)
    .innerJoin(dashboards, eq(dashboards.id, dashboard_id))
    .where(its)
    .orderBy(asc(id))
    .prepare()
  return (insight_id) => tiles.all({ insight_id })
}

/** A condition on insights: one of the project's dashboards shows it, or the given one does. */
export function isOnDashboard(project_id: number, dashboard_id?: number): SQL {
  const its = and(
    eq(dashboards.project_id, project_id),
    eq(dashboards.deleted, false),
    isNotNull(dashboard_tiles.insight_id),
    dashboard_id === undefined ? undefined : eq(dashboards.id, dashboard_id),
  )
  return sql`${insights.id} in (select ${dashboard_tiles.insight_id} from ${dashboard_tiles}
    join ${dashboards} on ${dashboards.id} = ${dashboard_tiles.dashboard_id} where ${its})`
}

/**
 * Puts an insight on exactly these dashboards of its project; false when nothing changed. On deleted ones, which callers do
 * not see, it stays, and is there when they are restored. Refuses unknown ids.
 */
export function setDashboards(
  db: TileWriter,
  insight: { readonly id: number; readonly project_id: number },
  ids: readonly number[],
): boolean {
  const its = and(
    eq(dashboards.project_id, insight.project_id),
    eq(dashboards.deleted, false),
    inArray(dashboards.id, [...ids]),
  )
  const there = new Set(
    db
      .select({ id: dashboards.id })
      .from(dashboards)
      .where(its)
      .all()
      .map(({ id }) => id),
  )
  const missing = ids.find((id) => !there.has(id))
  if (missing !== undefined) {
    throw new Refusal('does_not_exist', unknownId(missing), { attr: 'dashboards' })
  }
  const stored = readTilesOfInsights(db, insight.project_id)(insight.id)
  const left = stored.filter((tile) => !there.has(tile.dashboard_id))
  for (const tile of left) {
    db.delete(dashboard_tiles).where(eq(dashboard_tiles.id, tile.id)).run()
  }
  const joined = [...there].filter((id) => !stored.some(({ dashboard_id }) => dashboard_id === id))
  for (const dashboard_id of joined) {
    requireRoom(db, dashboard_id)
    db.insert(dashboard_tiles).values({ dashboard_id, insight_id: insight.id }).run()
  }
  return left.length > 0 || joined.length > 0
}

/** Lists the insights of a dashboard, deleted or not, with the dashboards (none deleted) that show each. */
export function listPlaces(
  db: TileReader,
  id: number,
): readonly { readonly insight_id: number; readonly places: readonly number[] }[] {
  const { insight_id, dashboard_id } = dashboard_tiles
  const its = and(eq(dashboard_id, id), isNotNull(insight_id))
  const tiles = db.select({ insight_id }).from(dashboard_tiles).where(its).all()
  return tiles.flatMap((tile) => {
    if (tile.insight_id === null) return []
    const rows = db
      .select({ id: dashboards.id })
      .from(dashboard_tiles)
      .innerJoin(dashboards, eq(dashboards.id, dashboard_id))
      .where(and(eq(insight_id, tile.insight_id), eq(dashboards.deleted, false)))
      .all()
    return { insight_id: tile.insight_id, places: rows.map((row) => row.id) }
  })
}

/** Adds a tile. Refuses one more than a dashboard may have. */
export function addTile(db: TileWriter, tile: typeof dashboard_tiles.$inferInsert): void {
  requireRoom(db, tile.dashboard_id)
  db.insert(dashboard_tiles).values(tile).run()
}

/** Moves a tile to another dashboard. Refuses tiles that are not on the first one, and a full target. */
export function moveTile(db: ControlDB, from_id: number, tile_id: number, to_id: number): void {
  db.transaction((tx) => {
    const its = and(eq(dashboard_tiles.id, tile_id), eq(dashboard_tiles.dashboard_id, from_id))
    const tile = tx.select().from(dashboard_tiles).where(its).get()
    if (tile === undefined) {
      throw new Refusal('does_not_exist', unknownId(tile_id), { attr: 'tile__id' })
    }
    if (to_id === from_id) return
    const is_double = tile.insight_id !== null && isOn(tx, tile.insight_id, to_id)
    if (is_double) tx.delete(dashboard_tiles).where(its).run()
    else {
      requireRoom(tx, to_id)
      tx.update(dashboard_tiles).set({ dashboard_id: to_id }).where(its).run()
    }
  })
}

function isOn(db: TileReader, insight: number, dashboard: number): boolean {
  const { insight_id, dashboard_id } = dashboard_tiles
  const its = and(eq(insight_id, insight), eq(dashboard_id, dashboard))
  return db.select().from(dashboard_tiles).where(its).get() !== undefined
}

/** Changes a dashboard's tiles: layout, text, deletion. Refuses tiles of other dashboards. */
export function setTiles(
  db: TileWriter,
  dashboard_id: number,
  wanted: readonly TileChanges[],
): void {
  for (const [index, tile] of wanted.entries()) {
    const { id, body, layouts, color, show_description, is_deleted } = tile
    const its = and(eq(dashboard_tiles.id, id ?? 0), eq(dashboard_tiles.dashboard_id, dashboard_id))
    const stored = id === undefined ? undefined : db.select().from(dashboard_tiles).where(its).get()
    if (id !== undefined && stored === undefined) {
      throw new Refusal('does_not_exist', unknownId(id), { attr: `tiles__${index}__id` })
    }
    if (is_deleted) db.delete(dashboard_tiles).where(its).run()
    else if (stored !== undefined) {
      const text = stored.insight_id === null ? (body ?? stored.body) : null
      const provided_fields = { layouts: layouts ?? stored.layouts, body: text }
      db.update(dashboard_tiles)
        .set({ ...provided_fields, color, show_description })
        .where(its)
        .run()
    } else {
      if (body === undefined) {
        const attr = `tiles__${index}__text`
        throw new Refusal('required', 'A new tile needs a text.', { attr })
      }
      requireRoom(db, dashboard_id)
      db.insert(dashboard_tiles)
        .values({ dashboard_id, body, layouts: layouts ?? {}, color, show_description })
        .run()
    }
  }
}

function requireRoom(db: TileReader, dashboard_id: number): void {
  const { id } = dashboard_tiles
  const its = eq(dashboard_tiles.dashboard_id, dashboard_id)
  const count = db.select({ id }).from(dashboard_tiles).where(its).all().length
  if (count < TILES_MAX) return
  throw new Refusal('invalid_input', `A dashboard has at most ${TILES_MAX} tiles.`, {
    attr: 'tiles',
  })
}
