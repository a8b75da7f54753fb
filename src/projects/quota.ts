/** Quotas of definitions per project: number and size of items of one kind, since lists are read as a whole. */
import { and, count, eq, getTableColumns, type SQL, sql } from 'drizzle-orm'
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core'
import { Refusal } from '../errors.ts'
import type { ControlDB } from '../storage/control/control-db.ts'

/** The table of one kind of items. Without a column `deleted` deletions remove the row. */
export type LimitedTable = SQLiteTable & {
  readonly project_id: SQLiteColumn
  readonly deleted?: SQLiteColumn
}

/** The project and its quota. `saved_max` is null for items that the program creates. */
type QuotaScope = {
  readonly project: { readonly id: number }
  readonly saved_max: number | null
  /** Bytes of all items of a kind. */
  readonly saved_bytes_max: number
}

/** Characters of one member: of a text, and of the JSON of any other value. */
const TEXT_CHARS_MAX = 50_000
const JSON_CHARS_MAX = 256 * 1024
/** Limits of single members, by name. */
const CHARS_MAX: ReadonlyMap<string, number> = new Map([
  ['description', 20_000],
  ['name', 2000],
  ['tags', 20_000],
])

/** Refuses an item beyond the quota. Call it in the transaction that inserted it. */
export function requireRoom(
  db: Pick<ControlDB, 'select'>,
  table: LimitedTable,
  { project, saved_max }: QuotaScope,
): void {
  if (saved_max === null) return
  const in_project = eq(table.project_id, project.id)
  const present =
    table.deleted === undefined ? in_project : and(in_project, eq(table.deleted, false))
  const items = db.select({ count: count() }).from(table).where(present).get()?.count ?? 0
  if (items <= saved_max) return
  const detail = `A project may keep ${saved_max} of these: delete some that are not needed.`
  throw new Refusal('invalid_input', detail)
}

/** An item before and after an edit, in its stored form; `before` is null for a new one. */
type SizedEdit = { readonly before: object | null; readonly after: object }

/**
 * Refuses a member that has grown beyond its limit, by its name, and an item beyond the project's bytes. Call it in the
 * transaction that wrote the item. A member that was larger before may shrink.
 */
export function requireSize(
  db: Pick<ControlDB, 'select'>,
  table: LimitedTable | undefined,
  { project, saved_max, saved_bytes_max }: QuotaScope,
  { before, after }: SizedEdit,
): void {
  if (saved_max === null) return
  const chars_before = charsByMember(before)
  let growth = 0
  for (const [name, chars] of charsByMember(after)) {
    const more = chars - (chars_before.get(name) ?? 0)
    growth += more
    const is_text = typeof (after as Readonly<Record<string, unknown>>)[name] === 'string'
    const chars_max = CHARS_MAX.get(name) ?? (is_text ? TEXT_CHARS_MAX : JSON_CHARS_MAX)
    if (more <= 0 || chars <= chars_max) continue
    const detail = `Ensure this field has no more than ${chars_max} characters.`
    throw new Refusal('max_length', detail, { attr: name })
  }
  if (table === undefined || growth <= 0 || bytesIn(db, table, project.id) <= saved_bytes_max)
    return
  const detail = `A project may keep ${saved_bytes_max} bytes of these: delete some that are not needed.`
  throw new Refusal('invalid_input', detail)
}

function charsByMember(item: object | null): ReadonlyMap<string, number> {
  const members = Object.entries(item ?? {}).flatMap(([name, value]: [string, unknown]) => {
    if (typeof value === 'string') return [[name, value.length] as const]
    if (typeof value !== 'object' || value === null) return []
    return [[name, JSON.stringify(value).length] as const]
  })
  return new Map(members)
}

/** SQL of the bytes of one item. `octet_length` reads the length from the row's header, not the text. */
export function bytesOfRow(table: SQLiteTable): SQL<number> {
  const lengths = Object.values(getTableColumns(table)).flatMap((column) =>
    column.getSQLType() === 'text' ? sql`coalesce(octet_length(${column}), 0)` : [],
  )
  return sql`(${sql.join(lengths, sql` + `)})`
}

/** Bytes of all items. */
function bytesIn(db: Pick<ControlDB, 'select'>, table: LimitedTable, project_id: number): number {
  const bytes = sql<number | null>`sum(${bytesOfRow(table)})`
  const row = db.select({ bytes }).from(table).where(eq(table.project_id, project_id)).get()
  return row?.bytes ?? 0
}
