/** The editor of insights and dashboards, and the record of an edit in the activity log. */
import { type Column, type SQL, sql } from 'drizzle-orm'
import { Refusal } from '../errors.ts'
import { type ActivityScope, changesBetween, recordActivity } from '../projects/activity.ts'
import { type LimitedTable, requireRoom, requireSize } from '../projects/quota.ts'
import {
  hasRight,
  hiddenTables,
  type Rights,
  requireEdit,
  rightsOfUser,
} from '../projects/rights/rights.ts'
import { MEMBER_WAYS } from '../projects/rights/ways.ts'
import type { ControlDB } from '../storage/control/control-db.ts'
import { annotations, dashboards, insight_variables, insights } from './tables.ts'

export type BoardEditor = {
  readonly control: ControlDB
  readonly project: { readonly id: number; readonly organization_id: string }
  readonly user_id: number
  /** Rights of the caller: every edit is checked, whatever route it comes from. */
  readonly rights: Rights
  /** The most objects of one kind in the project. */
  readonly saved_max: number | null
  /** The most bytes that all objects of a kind take together. */
  readonly saved_bytes_max: number
}

type BoardItem = {
  readonly id: number | string
  readonly name: string | null
  readonly deleted: boolean
  /** Of insights, whose pages have it in their address. */
  readonly short_id?: string
}

/**
 * Returns the item unless it is deleted; `changes` with `deleted: false` restore it. Refuses deleted items as not
 * found.
 */
export function requirePresent<Item extends { readonly deleted: boolean }>(
  item: Item,
  changes: { readonly deleted?: boolean | null } = {},
): Item {
  if (!item.deleted || changes.deleted === false) return item
  throw new Refusal('not_found', 'Not found.')
}

/** The wanted members that differ from the stored ones: scripts send an object back whole to change one member of it. */
export function changedMembers<Changes extends object>(
  before: object,
  wanted: Changes,
): Partial<Changes> {
  const stored = new Map(Object.entries(before))
  return Object.fromEntries(
    Object.entries(wanted).filter(([name, value]) => !Bun.deepEquals(stored.get(name), value)),
  ) as Partial<Changes>
}

/** Members that change with every edit and are not logged. */
const UNREMARKABLE: ReadonlySet<string> = new Set(['last_modified_at', 'last_modified_by'])

/** Tables of objects whose number is limited, by scope. */
const LIMITED_TABLES: Partial<Record<ActivityScope, LimitedTable>> = {
  Annotation: annotations,
  Dashboard: dashboards,
  Insight: insights,
  InsightVariable: insight_variables,
}

/**
 * Records an edit in the activity log, in the transaction of the edit; `before` is null for a new object. An
 * edit without changes is not logged. Refuses edits that the editor has no right to, and one object more than
 * the project may have.
 */
export function recordBoardEdit(
  db: Pick<ControlDB, 'insert' | 'select'>,
  editor: BoardEditor,
  edit: {
    readonly scope: ActivityScope
    readonly before: BoardItem | null
    readonly after: BoardItem
  },
  now: Date,
): void {
  const { project, user_id } = editor
  const { scope, before, after } = edit
  const changes =
    before === null
      ? []
      : changesBetween(scope, { ...before }, { ...after }).filter(
          ({ field }) => !UNREMARKABLE.has(field),
        )
  if (before !== null && changes.length === 0) return
  requireEdit(editor.rights, { scope, item: before ?? after })
  const is_more = !after.deleted && (before === null || before.deleted)
  const table = LIMITED_TABLES[scope]
  if (is_more && table !== undefined) requireRoom(db, table, editor)
  requireSize(db, table, editor, { before, after })
  const is_deleted = after.deleted && before?.deleted === false
  recordActivity(
    db,
    {
      organization_id: project.organization_id,
      project_id: project.id,
      user_id,
      scope,
      item_id: String(after.id),
      activity: before === null ? 'created' : is_deleted ? 'deleted' : 'updated',
      name: after.name ?? '',
      short_id: after.short_id ?? null,
      changes,
    },
    now,
  )
}

/**
 * The outcome for something that the server computes in the name of `author_id`, once the editor has changed what it
 * reads: the editor sees its answers. It moves to the name of an editor who may see less than the author, and ends if each
 * may see what the other may not.
 */
export function afterEditOf(
  { control, project, user_id }: BoardEditor,
  author_id: number,
): 'ends' | 'moves' | 'stays' {
  if (author_id === user_id) return 'stays'
  const author = findRights(control, author_id, project)
  // In the name of a member who has left nothing is computed.
  if (author === null) return 'stays'
  const own = rightsOfUser(control, user_id, project)
  if (!lacks(own, author)) return 'stays'
  return lacks(author, own) ? 'ends' : 'moves'
}

/** A condition on a column with any number of ids: bound one by one, SQLite takes 32,766 of them. */
export function isOneOf(column: Column, ids: readonly (number | string)[]): SQL {
  return sql`${column} in (select value from json_each(${JSON.stringify(ids)}))`
}

/** Whether no member can see more in insights and dashboards than the editor. */
export function maySeeAll({ control, project, user_id }: BoardEditor): boolean {
  const own = rightsOfUser(control, user_id, project)
  return hiddenTables(own).length === 0 && READ_BY_ALL.every((need) => hasRight(own, need))
}

function findRights(
  control: ControlDB,
  user_id: number,
  project: BoardEditor['project'],
): Rights | null {
  try {
    return rightsOfUser(control, user_id, project)
  } catch (error) {
    if (error instanceof Refusal) return null
    throw error
  }
}

/** Whether an insight or a dashboard may show something to others that it may not show with these rights. */
function lacks(rights: Rights, others: Rights): boolean {
  const hidden = new Set(hiddenTables(others))
  return (
    hiddenTables(rights).some((table) => !hidden.has(table)) ||
    READ_BY_ALL.some((need) => hasRight(others, need) && !hasRight(rights, need))
  )
}

const READ_BY_ALL = [MEMBER_WAYS['insight.result'], MEMBER_WAYS['dashboard.insight']]
