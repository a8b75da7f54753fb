/** What people say of the names of events and properties: what they mean, whose they are, which of them count. */
import { and, eq } from 'drizzle-orm'
import { Refusal } from '../errors.ts'
import type { ControlDB } from '../storage/control/control-db.ts'
import { type BoardEditor, recordBoardEdit } from './board-editor.ts'
import { definitions } from './tables.ts'

type DefinitionRow = typeof definitions.$inferSelect

/** What is said of one name. */
export type DefinitionNotes = Omit<DefinitionRow, 'id' | 'project_id' | 'updated_at'> & {
  readonly updated_at: Date | null
}

/** What may be said of a name; what is not said stays. */
export type DefinitionChanges = Partial<
  Pick<DefinitionRow, 'description' | 'hidden' | 'owner' | 'tags' | 'verified'>
>

/** A name that is there, by its id, and what activities call its kind. */
export type NamedDefinition = {
  readonly id: string
  readonly name: string
  readonly scope: 'EventDefinition' | 'PropertyDefinition'
}

/** Nobody has said anything. */
const NOTHING: DefinitionNotes = {
  description: null,
  tags: [],
  owner: null,
  hidden: false,
  verified: false,
  verified_at: null,
  verified_by: null,
  updated_at: null,
  updated_by: null,
  deleted_at: null,
}

/** Looks up what is said of the names of a project, by their ids. */
export function readSaid(db: ControlDB, project_id: number): (id: string) => DefinitionNotes {
  const rows = db.select().from(definitions).where(eq(definitions.project_id, project_id)).all()
  const stored = new Map(rows.map((row) => [row.id, row]))
  return (id) => stored.get(id) ?? NOTHING
}

/** Says something of a name. Refuses what is both hidden and verified. There are no more rows than names. */
export function changeDefinition(
  editor: BoardEditor,
  named: NamedDefinition,
  wanted: DefinitionChanges,
  now: Date,
): DefinitionNotes {
  return change(editor, named, now, (before) => {
    const { hidden, verified } = { ...before, ...wanted }
    if (hidden && verified) {
      const detail = 'What is verified cannot be hidden.'
      const attr = wanted.verified === undefined ? 'hidden' : 'verified'
      throw new Refusal('invalid_input', detail, { attr })
    }
    const is_as_before = verified === before.verified
    return {
      ...before,
      ...wanted,
      verified_at: is_as_before ? before.verified_at : verified ? now : null,
      verified_by: is_as_before ? before.verified_by : verified ? editor.user_id : null,
      deleted_at: null,
    }
  })
}

/** Takes a name out of the lists, with all that was said of it, until it is seen again. */
export function deleteDefinition(editor: BoardEditor, named: NamedDefinition, now: Date): void {
  change(editor, named, now, () => ({ ...NOTHING, deleted_at: now }))
}

function change(
  editor: BoardEditor,
  named: NamedDefinition,
  now: Date,
  changeOf: (before: DefinitionNotes) => DefinitionNotes,
): DefinitionNotes {
  const { control, project, user_id } = editor
  const { id, name, scope } = named
  return control.transaction((tx) => {
    const its = and(eq(definitions.project_id, project.id), eq(definitions.id, id))
    const before = tx.select().from(definitions).where(its).get() ?? NOTHING
    const after = { ...changeOf(before), updated_at: now, updated_by: user_id }
    tx.insert(definitions)
      .values({ ...after, project_id: project.id, id })
      .onConflictDoUpdate({ target: [definitions.project_id, definitions.id], set: after })
      .run()
    const shown = ({
      description,
      tags,
      owner,
      hidden,
      verified,
      deleted_at,
    }: DefinitionNotes) => ({
      id,
      name,
      description,
      tags,
      owner,
      hidden,
      verified,
      deleted: deleted_at !== null,
    })
    // Whoever is described is there, whatever was deleted before.
    const was = { ...shown(before), deleted: false }
    recordBoardEdit(tx, editor, { scope, before: was, after: shown(after) }, now)
    return after
  })
}
