/** Query variables: a name for `{variables.x}`, and its default value. */
import { and, asc, eq, sql } from 'drizzle-orm'
import { Refusal } from '../errors.ts'
import type { ControlDB } from '../storage/control/control-db.ts'
import { readOneByOne } from '../threads/sliced-json.ts'
import { type BoardEditor, recordBoardEdit } from './board-editor.ts'
import { narrowReaders } from './readers.ts'
import { insight_variables } from './tables.ts'

export type Variable = typeof insight_variables.$inferSelect

/** Members that an edit can set; undefined ones stay. */
export type VariableChanges = Partial<Pick<Variable, 'default_value' | 'name' | 'type' | 'values'>>

/** The most characters of a variable's value as JSON. */
const VALUE_LENGTH_MAX = 20_000

/** Creates a variable. Refuses a name that queries cannot use, and a taken one. */
export function createVariable(
  editor: BoardEditor,
  wanted: VariableChanges & Pick<Variable, 'name' | 'type'>,
  now: Date,
): Variable {
  const { control, project, user_id } = editor
  const code_name = codeNameOf(wanted.name)
  requireFree(control, project.id, code_name)
  requireShort(wanted)
  return control.transaction((tx) => {
    const variable = tx
      .insert(insight_variables)
      .values({
        ...wanted,
        id: Bun.randomUUIDv7(),
        code_name,
        project_id: project.id,
        created_by: user_id,
        created_at: now,
      })
      .returning()
      .get()
    recordBoardEdit(tx, editor, editOf(null, variable), now)
    return variable
  })
}

/** Changes a variable; its name in queries stays. */
export function updateVariable(
  editor: BoardEditor,
  before: Variable,
  wanted: VariableChanges,
  now: Date,
): Variable {
  requireShort(wanted)
  return editor.control.transaction((tx) => {
    const changed = tx
      .update(insight_variables)
      .set({ ...before, ...wanted })
      .where(eq(insight_variables.id, before.id))
      .returning()
      .get()
    recordBoardEdit(tx, editor, editOf(before, changed), now)
    narrowReaders({ ...editor, control: tx }, { variable_id: before.id })
    return changed
  })
}

/** Deletes a variable; queries that use it contain its value themselves. */
export function deleteVariable(editor: BoardEditor, variable: Variable, now: Date): void {
  editor.control.transaction((tx) => {
    tx.delete(insight_variables).where(eq(insight_variables.id, variable.id)).run()
    narrowReaders({ ...editor, control: tx }, { variable_id: variable.id })
    const after = { ...loggedVariable(variable), deleted: true }
    recordBoardEdit(
      tx,
      editor,
      { scope: 'InsightVariable', before: loggedVariable(variable), after },
      now,
    )
  })
}

/** Returns the project's variable with this id. Refuses when there is none. */
export function getVariable(db: ControlDB, project_id: number, id: string): Variable {
  const variable = findVariable(db, project_id, id)
  if (variable === null) throw new Refusal('not_found', 'Not found.')
  return variable
}

/** Returns the project's variable with this id; null when there is none. */
export function findVariable(db: ControlDB, project_id: number, id: string): Variable | null {
  const its = and(eq(insight_variables.project_id, project_id), eq(insight_variables.id, id))
  return db.select().from(insight_variables).where(its).get() ?? null
}

/** Reads a project's variables, oldest first; one by one in slices of the event loop. */
export async function readVariables(
  db: ControlDB,
  project_id: number,
): Promise<readonly Variable[]> {
  const { created_at, id } = insight_variables
  const its = eq(insight_variables.project_id, project_id)
  const ids = db
    .select({ id })
    .from(insight_variables)
    .where(its)
    .orderBy(asc(created_at), asc(id))
    .all()
  const one = db
    .select()
    .from(insight_variables)
    .where(eq(id, sql.placeholder('id')))
    .prepare()
  return readOneByOne(ids, (row) => one.get(row))
}

/** Derives the name in queries: lower case, `_` for blanks, only letters, digits, `_` and `-`. */
function codeNameOf(name: string): string {
  const code_name = name
    .trim()
    .toLowerCase()
    .replace(/\s+/g, '_')
    .replace(/[^a-z0-9_-]/g, '')
  if (code_name !== '') return code_name
  const detail = 'A name needs letters or digits, which queries can name it by.'
  throw new Refusal('invalid_input', detail, { attr: 'name' })
}

function requireFree(db: ControlDB, project_id: number, code_name: string): void {
  const its = and(
    eq(insight_variables.project_id, project_id),
    eq(insight_variables.code_name, code_name),
  )
  if (
    db.select({ id: insight_variables.id }).from(insight_variables).where(its).get() === undefined
  ) {
    return
  }
  const detail = `This project already has a variable with the code name ${code_name}.`
  throw new Refusal('unique', detail, { attr: 'name' })
}

function requireShort(wanted: VariableChanges): void {
  for (const attr of ['default_value', 'values'] as const) {
    if (JSON.stringify(wanted[attr] ?? null).length <= VALUE_LENGTH_MAX) continue
    const detail = `Ensure this field has no more than ${VALUE_LENGTH_MAX} characters.`
    throw new Refusal('max_length', detail, { attr })
  }
}

/** Adds `deleted`, so that the activity log shows a deletion as a change. */
function loggedVariable(variable: Variable) {
  return { ...variable, deleted: false }
}

function editOf(before: Variable | null, after: Variable) {
  const was = before === null ? null : loggedVariable(before)
  return { scope: 'InsightVariable', before: was, after: loggedVariable(after) } as const
}
