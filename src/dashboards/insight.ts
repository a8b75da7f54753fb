/** Saved insights: named queries. */
import { and, desc, eq, getTableColumns, or, type SQL, sql } from 'drizzle-orm'
import { Refusal } from '../errors.ts'
import { requireEdit } from '../projects/rights/rights.ts'
import type { ControlDB } from '../storage/control/control-db.ts'
import { readOneByOne } from '../threads/sliced-json.ts'
import { narrowAlertsOf } from './alert.ts'
import { type BoardEditor, recordBoardEdit } from './board-editor.ts'
import { narrowLinksWith } from './sharing.ts'
import { insights } from './tables.ts'
import { setDashboards } from './tile.ts'

export type SavedInsight = typeof insights.$inferSelect

/** Members that an edit can set; undefined ones stay. */
export type SavedInsightChanges = Partial<
  Pick<
    SavedInsight,
    | 'deleted'
    | 'derived_name'
    | 'description'
    | 'favorited'
    | 'filters'
    | 'name'
    | 'query'
    | 'saved'
    | 'tags'
  >
> & {
  /** The dashboards that show it. */
  readonly dashboards?: readonly number[]
}

const SHORT_ID_LENGTH = 8
const LETTERS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Saves an insight. Refuses missing dashboards. */
export function createInsight(
  editor: BoardEditor,
  changes: SavedInsightChanges,
  now: Date,
): SavedInsight {
  const { control, project, user_id } = editor
  const { dashboards, ...provided_fields } = changes
  return control.transaction((tx) => {
    const insight = tx
      .insert(insights)
      .values({
        ...provided_fields,
        project_id: project.id,
        short_id: newShortId(),
        created_by: user_id,
        last_modified_by: user_id,
        created_at: now,
        last_modified_at: now,
      })
      .returning()
      .get()
    if (dashboards !== undefined && setDashboards(tx, insight, dashboards)) {
      requireEdit(editor.rights, { scope: 'Dashboard', item: {} })
      narrowLinksWith({ ...editor, control: tx }, [insight.id])
    }
    recordBoardEdit(tx, editor, { scope: 'Insight', before: null, after: insight }, now)
    return insight
  })
}

/** Changes an insight; deleting is a change of `deleted`. Refuses as `createInsight` does. */
export function updateInsight(
  editor: BoardEditor,
  before: SavedInsight,
  changes: SavedInsightChanges,
  now: Date,
): SavedInsight {
  const { control, user_id } = editor
  const { dashboards, ...provided_fields } = changes
  const { last_modified_at, last_modified_by } = before
  const modified = MATERIAL_MEMBERS.some((name) => changes[name] !== undefined)
    ? { last_modified_at: now, last_modified_by: user_id }
    : { last_modified_at, last_modified_by }
  return control.transaction((tx) => {
    const insight = tx
      .update(insights)
      .set({ ...provided_fields, ...modified })
      .where(eq(insights.id, before.id))
      .returning()
      .get()
    if (dashboards !== undefined && setDashboards(tx, insight, dashboards)) {
      requireEdit(editor.rights, { scope: 'Dashboard', item: {} })
    }
    recordBoardEdit(tx, editor, { scope: 'Insight', before, after: insight }, now)
    const its_editor = { ...editor, control: tx }
    narrowLinksWith(its_editor, [insight.id])
    narrowAlertsOf(its_editor, [insight.id])
    return insight
  })
}

/** Members whose change is a modification, as PostHog has it: a starred insight stays at its place in lists. */
const MATERIAL_MEMBERS = ['description', 'filters', 'name', 'query'] as const

/** Returns the project's insight with this id, deleted or not. Refuses when there is none. */
export function getInsight(db: ControlDB, project_id: number, id: number): SavedInsight {
  const its = and(eq(insights.project_id, project_id), eq(insights.id, id))
  const insight = db.select().from(insights).where(its).get()
  if (insight === undefined) throw new Refusal('not_found', 'Not found.')
  return insight
}

/** Returns the project's insight with this id, or else with this short id. Refuses when there is none. */
export function getInsightNamed(db: ControlDB, project_id: number, name: string): SavedInsight {
  const named = /^[1-9]\d{0,14}$/.test(name)
    ? or(eq(insights.id, Number(name)), eq(insights.short_id, name))
    : eq(insights.short_id, name)
  const found = db
    .select()
    .from(insights)
    .where(and(eq(insights.project_id, project_id), named))
    .all()
  // A short id may be all digits, and equal another insight's id.
  const insight = found.find(({ id }) => String(id) === name) ?? found[0]
  if (insight === undefined) throw new Refusal('not_found', 'Not found.')
  return insight
}

/** An insight without its query, which is most of its bytes. */
export type InsightHead = Omit<SavedInsight, 'filters' | 'query'>

/** Lists the ids of a project's insights that are not deleted and satisfy the condition, the most recently changed first. */
export function listInsightIds(
  db: ControlDB,
  project_id: number,
  condition: SQL | undefined,
): readonly number[] {
  const { last_modified_at, id, deleted } = insights
  return db
    .select({ id })
    .from(insights)
    .where(and(eq(insights.project_id, project_id), eq(deleted, false), condition))
    .orderBy(desc(last_modified_at), desc(id))
    .values()
    .map(([own_id]) => own_id)
}

/** Returns a lookup of insights that are not deleted, without their queries. */
export function insightHeadReader(db: ControlDB): (id: number) => InsightHead | undefined {
  const { filters: _filters, query: _query, ...columns } = getTableColumns(insights)
  const its = and(eq(insights.id, sql.placeholder('id')), eq(insights.deleted, false))
  const one = db.select(columns).from(insights).where(its).prepare()
  return (id) => one.get({ id })
}

/** Returns a lookup of whole insights, deleted or not. */
export function insightReader(db: ControlDB): (id: number) => SavedInsight | undefined {
  const its = eq(insights.id, sql.placeholder('id'))
  const one = db.select().from(insights).where(its).prepare()
  return (id) => one.get({ id })
}

/** Reads whole insights by their ids, one by one in slices of the event loop. */
export async function readInsights(
  db: ControlDB,
  ids: readonly number[],
): Promise<ReadonlyMap<number, SavedInsight>> {
  const rows = await readOneByOne(ids, insightReader(db))
  return new Map(rows.map((row) => [row.id, row]))
}

/** Creates a random id for addresses of an insight. */
function newShortId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(SHORT_ID_LENGTH))
  return Array.from(bytes, (byte) => LETTERS[byte % LETTERS.length] ?? '').join('')
}
