/** How many things of one kind a project may keep, and how large: each is listed, shown and looked through as a whole. */
import { and, count, eq, getTableColumns, sql } from 'drizzle-orm'
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core'
import { Refusal } from '../errors.ts'
import type { ControlDB } from '../storage/control/control-db.ts'

/** The table of things of one kind; where there is no `deleted`, they are gone when they are deleted. */
export type LimitedTable = SQLiteTable & {
  readonly project_id: SQLiteColumn
  readonly deleted?: SQLiteColumn
}

/** Whose room, and how much: null for what the program makes by itself. */
export type QuotaScope = {
  readonly project: { readonly id: number }
  readonly saved_max: number | null
  /** What all things of a kind take, in bytes. */
  readonly saved_bytes_max: number
}

/** Characters of one member: texts as they are, everything else as JSON. */
const TEXT_CHARS_MAX = 50_000
const JSON_CHARS_MAX = 512 * 1024
/** Members that may have more or less, by their name. */
const CHARS_MAX: ReadonlyMap<string, number> = new Map([
  ['description', 20_000],
  ['filters', 1024 * 1024],
  ['name', 2000],
  ['tags', 20_000],
])

/** Refuses what is one thing too many; call it in the transaction that made it. */
export function requireRoom(
  db: Pick<ControlDB, 'select'>,
  table: LimitedTable,
  { project, saved_max }: QuotaScope,
): void {
  if (saved_max === null) return
  const its = eq(table.project_id, project.id)
  const present = table.deleted === undefined ? its : and(its, eq(table.deleted, false))
  const kept = db.select({ count: count() }).from(table).where(present).get()?.count ?? 0
  if (kept <= saved_max) return
  const detail = `A project may keep ${saved_max} of these: delete some that are not needed.`
  throw new Refusal('invalid_input', detail)
}

/** A thing before and after an edit, with its members as they are kept; `before` is null for a new one. */
export type SizedEdit = { readonly before: object | null; readonly after: object }

/**
 * Refuses a member that has grown too large, by its name, and a thing that the project has no bytes left for; call it in
 * the transaction that wrote it. What was larger before may shrink.
 */
export function requireSize(
  db: Pick<ControlDB, 'select'>,
  table: LimitedTable | undefined,
  { project, saved_max, saved_bytes_max }: QuotaScope,
  { before, after }: SizedEdit,
): void {
  if (saved_max === null) return
  const had = charsByMember(before)
  let growth = 0
  for (const [name, chars] of charsByMember(after)) {
    const more = chars - (had.get(name) ?? 0)
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

/** SQLite knows lengths without reading the texts. */
function bytesIn(db: Pick<ControlDB, 'select'>, table: LimitedTable, project_id: number): number {
  const lengths = Object.values(getTableColumns(table)).flatMap((column) =>
    column.getSQLType() === 'text' ? sql`coalesce(octet_length(${column}), 0)` : [],
  )
  const bytes = sql<number | null>`sum(${sql.join(lengths, sql` + `)})`
  const row = db.select({ bytes }).from(table).where(eq(table.project_id, project_id)).get()
  return row?.bytes ?? 0
}
