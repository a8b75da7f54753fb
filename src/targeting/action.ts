/** Actions: events under one name, defined by alternative steps. */
import { and, asc, desc, eq, sql } from 'drizzle-orm'
import { Refusal } from '../errors.ts'
import { compilePattern, patternSizeFault } from '../flags/operators/pattern.ts'
import type { ControlDB } from '../storage/control/control-db.ts'
import { recordEdit, type TargetingEditor } from './shared/editor.ts'
import { actions, type StoredActionStep } from './tables.ts'

export type Action = typeof actions.$inferSelect

/** Members that an edit can set; undefined ones stay. */
export type ActionChanges = Partial<
  Pick<
    Action,
    | 'deleted'
    | 'description'
    | 'name'
    | 'pinned_at'
    | 'post_to_slack'
    | 'slack_message_format'
    | 'steps'
    | 'tags'
  >
>

/** An action as queries use it, by id or by name. */
type NamedAction = Pick<Action, 'id' | 'name'> & {
  /** `StoredActionStep[]`, unparsed: few of a project's actions are used at a time. */
  readonly steps_json: string
}

/** The members of a step that can be matched as a pattern. */
const PATTERNS = ['url', 'text', 'href'] as const

/** Creates an action. Refuses a taken name and invalid patterns. */
export function createAction(
  editor: TargetingEditor,
  input: ActionChanges & { readonly name: string },
  now: Date,
): Action {
  const { control, project, user_id } = editor
  requireFreeName(control, project.id, input.name, null)
  requirePatterns(input.steps ?? [])
  return control.transaction((tx) => {
    const action = tx
      .insert(actions)
      .values({
        ...input,
        project_id: project.id,
        created_by: user_id,
        created_at: now,
        updated_at: now,
      })
      .returning()
      .get()
    recordEdit(tx, editor, editOf(null, action), now)
    return action
  })
}

/** Changes an action; deleting is a change of `deleted`. Refuses as `createAction` does. */
export function updateAction(
  editor: TargetingEditor,
  before: Action,
  changes: ActionChanges,
  now: Date,
): Action {
  const { control, project } = editor
  const changed = { ...before, ...changes, updated_at: now }
  if (!changed.deleted) requireFreeName(control, project.id, changed.name, before.id)
  requirePatterns(changes.steps ?? [])
  return control.transaction((tx) => {
    const action = tx
      .update(actions)
      .set(changed)
      .where(eq(actions.id, before.id))
      .returning()
      .get()
    recordEdit(tx, editor, editOf(before, action), now)
    return action
  })
}

/** Returns the project's action with this id, deleted or not. Refuses when there is none. */
export function getAction(db: ControlDB, project_id: number, id: number): Action {
  const action = findAction(db, project_id, id)
  if (action === null) throw new Refusal('not_found', 'Not found.')
  return action
}

/** Returns the project's action with this id, deleted or not; null when there is none. */
export function findAction(db: ControlDB, project_id: number, id: number): Action | null {
  const its = and(eq(actions.project_id, project_id), eq(actions.id, id))
  return db.select().from(actions).where(its).get() ?? null
}

/** Lists the names of a project's actions that are not deleted, newest first. */
export function listActionNames(
  db: ControlDB,
  project_id: number,
): readonly { readonly id: number; readonly name: string }[] {
  const { id, name, deleted } = actions
  const its = and(eq(actions.project_id, project_id), eq(deleted, false))
  return db.select({ id, name }).from(actions).where(its).orderBy(desc(id)).all()
}

/** Lists a project's actions that are not deleted, as queries use them, oldest first. */
export function listActions(db: ControlDB, project_id: number): readonly NamedAction[] {
  const { id, name, steps } = actions
  const its = and(eq(actions.project_id, project_id), eq(actions.deleted, false))
  const steps_json = sql<string>`${steps}`
  const rows = db
    .select({ id, name, steps_json })
    .from(actions)
    .where(its)
    .orderBy(asc(id))
    .values()
  return rows.map(([action_id, action_name, steps_text]) => ({
    id: action_id,
    name: action_name,
    steps_json: steps_text,
  }))
}

function requireFreeName(
  db: ControlDB,
  project_id: number,
  name: string,
  own_id: number | null,
): void {
  const its = and(
    eq(actions.project_id, project_id),
    eq(actions.name, name),
    eq(actions.deleted, false),
  )
  const holder = db.select({ id: actions.id }).from(actions).where(its).get()
  if (holder === undefined || holder.id === own_id) return
  const detail = `This project already has an action with this name, ID ${holder.id}`
  throw new Refusal('unique', detail, { attr: 'name' })
}

/** Refuses patterns that queries could not execute, at the edit and not at the query. */
function requirePatterns(steps: readonly StoredActionStep[]): void {
  for (const [index, step] of steps.entries()) {
    for (const name of PATTERNS) {
      const pattern = step[name]
      if (step[`${name}_matching`] !== 'regex' || pattern === null) continue
      if (compilePattern(pattern) !== null) continue
      const attr = `steps__${index}__${name}`
      const detail = patternSizeFault(pattern) ?? 'Not a valid regular expression.'
      throw new Refusal('invalid_value', detail, { attr })
    }
  }
}

function editOf(before: Action | null, after: Action) {
  return { scope: 'Action', item_id: after.id, name: after.name, before, after } as const
}
