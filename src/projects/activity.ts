/** The activity log: an entry with the changed fields for every change made through the API, read in pages. */
import { and, count, desc, eq, inArray, isNull, notInArray, or, sql } from 'drizzle-orm'
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { ControlDB } from '../storage/control/control-db.ts'
import { type Json, json, timestamp, users } from './tables.ts'

const activity_log = sqliteTable('activity_log', {
  id: integer().primaryKey({ autoIncrement: true }),
  organization_id: text().notNull(),
  project_id: integer(),
  user_id: integer(),
  scope: text().notNull(),
  item_id: text().notNull(),
  activity: text().notNull(),
  detail: json().notNull(),
  created_at: timestamp().notNull(),
})

/** The kinds of items in the log, by the API's names. */
export type ActivityScope =
  | 'Action'
  | 'AlertConfiguration'
  | 'Annotation'
  | 'Cohort'
  | 'Dashboard'
  | 'EarlyAccessFeature'
  | 'EventDefinition'
  | 'Experiment'
  | 'ExperimentSavedMetric'
  | 'FeatureFlag'
  | 'Group'
  | 'Holdout'
  | 'Insight'
  | 'InsightVariable'
  | 'Organization'
  | 'OrganizationMembership'
  | 'Person'
  | 'PersonalAPIKey'
  | 'PluginConfig'
  | 'Project'
  | 'PropertyDefinition'
  | 'Subscription'
  | 'Survey'

/** A changed field. */
export type ActivityChange = {
  readonly type: ActivityScope
  readonly action: 'changed' | 'created' | 'deleted'
  readonly field: string
  readonly before: Json
  readonly after: Json
}

export type ActivityEntry = {
  readonly organization_id: string
  readonly project_id: number | null
  readonly user_id: number
  readonly scope: ActivityScope
  readonly item_id: string
  readonly activity: 'created' | 'deleted' | 'merge_undone' | 'split_person' | 'updated'
  /** The item's name. */
  readonly name: string
  /** The item's id in addresses of pages, if it has another one there. */
  readonly short_id?: string | null
  readonly changes: readonly ActivityChange[]
}

/** A filter and page of the log; pages count from 1. */
export type ActivityQuery = {
  /** Null selects entries of the organization itself. */
  readonly project_id: number | null
  /** Required without a project. */
  readonly organization_id?: string
  /** Kinds of items; none selects all. */
  readonly scopes: readonly string[]
  /** The id or the UUID of a user; null selects changes by anybody. */
  readonly user: string | null
  /** Kinds that are left out. */
  readonly hidden?: readonly ActivityScope[]
  /**
   * Whether the caller may read the values of a change, or only that there was one. `field` null means items' names.
   */
  readonly showsValues: (scope: ActivityScope, field: string | null) => boolean
  /** Null selects all items of the scope. */
  readonly item_id: string | null
  readonly page: number
  readonly limit: number
}

/** Characters of the JSON of one value, and of all values of one entry; longer ones are shortened. */
const VALUE_CHARS_MAX = 16_384
const ENTRY_CHARS_MAX = 32_768
/** Characters that are stored of a shortened value. */
const START_CHARS = 500
const NAME_CHARS_MAX = 1000

/** Adds an entry with long values shortened. Call it in the transaction of the change. */
export function recordActivity(
  db: Pick<ControlDB, 'insert'>,
  { name: full_name, short_id = null, changes: all, ...activity }: ActivityEntry,
  now: Date,
): void {
  const name = full_name.slice(0, NAME_CHARS_MAX)
  const changes = shortenChanges(all)
  const detail = { name, changes, short_id, trigger: null, type: null }
  db.insert(activity_log)
    .values({ ...activity, detail, created_at: now })
    .run()
}

function shortenChanges(changes: readonly ActivityChange[]): readonly ActivityChange[] {
  const to = (chars_max: number): readonly ActivityChange[] =>
    changes.map(({ before, after, ...change }) => ({
      ...change,
      before: shorten(before, chars_max),
      after: shorten(after, chars_max),
    }))
  const shortened = to(VALUE_CHARS_MAX)
  return JSON.stringify(shortened).length > ENTRY_CHARS_MAX ? to(START_CHARS) : shortened
}

/** A value with short JSON as it is; of a long one the beginning as text, with its length. */
function shorten(value: Json, chars_max: number): Json {
  const written = JSON.stringify(value)
  if (written.length <= chars_max) return value
  // The cut may split a surrogate pair.
  return `${written.slice(0, START_CHARS).toWellFormed()}… (${written.length} characters)`
}

/** An entry as its readers may see it. */
type ShownActivity = Omit<typeof activity_log.$inferSelect, 'detail' | 'id' | 'project_id'> & {
  readonly id: string
  readonly detail: object
}

/** A page of entries, newest first, with the total number. */
export function listActivity(
  db: ControlDB,
  activity_query: ActivityQuery,
): { readonly results: readonly ShownActivity[]; readonly total_count: number } {
  const { project_id, organization_id, scopes, user, hidden = [], item_id } = activity_query
  const { page, limit } = activity_query
  const query = and(
    project_id === null
      ? and(
          eq(activity_log.organization_id, organization_id ?? ''),
          isNull(activity_log.project_id),
        )
      : eq(activity_log.project_id, project_id),
    scopes.length === 0 ? undefined : inArray(activity_log.scope, [...scopes]),
    user === null ? undefined : inArray(activity_log.user_id, idsOf(db, user)),
    hidden.length === 0 ? undefined : notInArray(activity_log.scope, [...hidden]),
    item_id === null ? undefined : eq(activity_log.item_id, item_id),
  )
  const rows = db
    .select()
    .from(activity_log)
    .where(query)
    .orderBy(desc(activity_log.id))
    .limit(limit)
    .offset((page - 1) * limit)
    .all()
  const total = db.select({ total: count() }).from(activity_log).where(query).get()?.total ?? 0
  const results = rows.map(({ project_id: _project, ...entry }) => ({
    ...entry,
    id: String(entry.id),
    detail: shownDetail(entry, activity_query.showsValues),
  }))
  return { results, total_count: total }
}

/** The ids of the user with this id or UUID. */
function idsOf(db: ControlDB, user: string) {
  const its = or(eq(users.uuid, user.toLowerCase()), eq(sql`cast(${users.id} as text)`, user))
  return db.select({ id: users.id }).from(users).where(its)
}

/** The detail of an entry, without values that the caller may not read. */
function shownDetail(
  { scope, detail }: Pick<typeof activity_log.$inferSelect, 'detail' | 'scope'>,
  showsValues: ActivityQuery['showsValues'],
): object {
  // `recordActivity` wrote both.
  const kind = scope as ActivityScope
  const { name, changes, ...rest } = detail as unknown as {
    readonly name: string
    readonly changes: readonly ActivityChange[]
  }
  return {
    name: showsValues(kind, null) ? name : '',
    changes: changes.map((change) =>
      showsValues(kind, change.field) ? change : { ...change, before: null, after: null },
    ),
    ...rest,
  }
}

/** The changes of one item at one time. */
type PastActivity = {
  /** Null for a deleted user. */
  readonly user_id: number | null
  readonly created_at: Date
  readonly changes: readonly ActivityChange[]
}

/** The changes of an item of a project, the last first, at most `limit`. */
export function listPast(
  db: ControlDB,
  item: { readonly project_id: number; readonly scope: ActivityScope; readonly item_id: string },
  limit: number,
): readonly PastActivity[] {
  const its = and(
    eq(activity_log.project_id, item.project_id),
    eq(activity_log.scope, item.scope),
    eq(activity_log.item_id, item.item_id),
  )
  const rows = db.select().from(activity_log).where(its).orderBy(desc(activity_log.id)).limit(limit)
  return rows.all().map(({ user_id, created_at, detail }) => {
    // `recordActivity` wrote it.
    const { changes } = detail as unknown as { readonly changes: readonly ActivityChange[] }
    return { user_id, created_at, changes }
  })
}

/** The fields that differ between two versions of an item, in the order of the newer one. */
export function changesBetween(
  scope: ActivityScope,
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
): readonly ActivityChange[] {
  return Object.keys(after).flatMap((field): ActivityChange[] => {
    // Names come from requests: an inherited member such as `constructor` must not count.
    const old = asJson(Object.hasOwn(before, field) ? before[field] : null)
    const now = asJson(after[field])
    if (Bun.deepEquals(old, now)) return []
    const action = old === null ? 'created' : now === null ? 'deleted' : 'changed'
    return [{ type: scope, action, field, before: old, after: now }]
  })
}

/** A value as stored: dates as text, undefined as null. */
function asJson(value: unknown): Json {
  return JSON.parse(JSON.stringify(value ?? null)) as Json
}
