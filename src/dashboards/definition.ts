/** Stored definitions of event and property names: description, tags, owner, verified, hidden. */
import { and, eq } from 'drizzle-orm'
import { Refusal } from '../errors.ts'
import type { ControlDB } from '../storage/control/control-db.ts'
import { type BoardEditor, recordBoardEdit } from './board-editor.ts'
import { definitions } from './tables.ts'

type DefinitionRow = typeof definitions.$inferSelect

/** The stored members of one definition. */
export type DefinitionNotes = Omit<DefinitionRow, 'id' | 'project_id' | 'updated_at'> & {
  readonly updated_at: Date | null
}

/** Members that an edit can set; undefined ones stay. */
export type DefinitionChanges = Partial<
  Pick<DefinitionRow, 'description' | 'hidden' | 'owner' | 'tags' | 'verified'>
>

/** An existing name, by its id, and the scope of its kind in the activity log. */
export type NamedDefinition = {
  readonly id: string
  readonly name: string
  readonly scope: 'EventDefinition' | 'PropertyDefinition'
  /** The type of a property before and after the edit; stored with the events. */
  readonly retyped?: { readonly before: string | null; readonly after: string | null }
}

/** The members of a name without a stored definition. */
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

/** Returns a lookup of a project's definitions by id. */
export function readDefinitions(
  db: ControlDB,
  project_id: number,
): (id: string) => DefinitionNotes {
  const rows = db.select().from(definitions).where(eq(definitions.project_id, project_id)).all()
  const stored = new Map(rows.map((row) => [row.id, row]))
  return (id) => stored.get(id) ?? NOTHING
}

/**
 * Changes a definition. Hiding ends its verification, and verifying shows it; refuses both at once. There are at most as many
 * rows as names.
 */
export function changeDefinition(
  editor: BoardEditor,
  named: NamedDefinition,
  wanted: DefinitionChanges,
  now: Date,
): DefinitionNotes {
  return change(editor, named, now, (before) => {
    if (wanted.hidden && wanted.verified) {
      const detail = 'What is verified cannot be hidden.'
      throw new Refusal('invalid_input', detail, { attr: 'verified' })
    }
    const hidden = wanted.verified ? false : (wanted.hidden ?? before.hidden)
    const verified = wanted.hidden ? false : (wanted.verified ?? before.verified)
    const is_as_before = verified === before.verified
    return {
      ...before,
      ...wanted,
      hidden,
      verified,
      verified_at: is_as_before ? before.verified_at : verified ? now : null,
      verified_by: is_as_before ? before.verified_by : verified ? editor.user_id : null,
      deleted_at: null,
    }
  })
}

/** Removes a name from the lists, with its definition, until it is seen again. */
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
  const { id, name, scope, retyped } = named
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
    // Changing a definition restores the name.
    const was = { ...shown(before), deleted: false }
    const [type_before, type_after] =
      retyped === undefined
        ? [{}, {}]
        : [{ property_type: retyped.before }, { property_type: retyped.after }]
    const edit = {
      scope,
      before: { ...was, ...type_before },
      after: { ...shown(after), ...type_after },
    }
    recordBoardEdit(tx, editor, edit, now)
    return after
  })
}
