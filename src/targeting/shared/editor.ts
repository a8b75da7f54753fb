/** Who is changing something in which project, and what its flags are before the change. */
import type { CompiledFlags } from '../../flags/definition.ts'
import {
  type ActivityChange,
  type ActivityScope,
  changesBetween,
  recordActivity,
} from '../../projects/activity.ts'
import { getOrganizationOwner } from '../../projects/organization.ts'
import { type LimitedTable, requireRoom, requireSize } from '../../projects/quota.ts'
import { ALL_RIGHTS, type Rights, requireEdit } from '../../projects/rights.ts'
import type { ControlDB } from '../../storage/control/control-db.ts'
import type { FlagDefinitions } from '../flags/flag-definitions.ts'
import {
  actions,
  cohorts,
  early_access_features,
  experiment_holdouts,
  experiment_saved_metrics,
  experiments,
  feature_flags,
  surveys,
} from '../tables.ts'

export type TargetingEditorContext = {
  readonly control: ControlDB
  readonly flags: Pick<FlagDefinitions, 'expectChange' | 'flagsOf'>
}

export type TargetingEditor = {
  readonly control: ControlDB
  readonly project: { readonly id: number; readonly organization_id: string }
  readonly user_id: number
  /** What may be changed: every edit is checked, whatever route it comes from. */
  readonly rights: Rights
  /** Things of one kind that the project may keep; null for what the program makes by itself. */
  readonly saved_max: number | null
  /** What all things of a kind may take together, in bytes. */
  readonly saved_bytes_max: number
  /** As they are before the change; read outside of its transaction. */
  readonly definitions: CompiledFlags
  /** Told of every edit: what comes after it in this turn of the event loop must see it. */
  readonly expectChange: () => void
}

/** An editor for what the program does by itself, in the name of a user or else of the organization's owner. */
export function editorFor(
  { control, flags }: TargetingEditorContext,
  project: TargetingEditor['project'],
  user_id: number | null,
): TargetingEditor {
  return {
    control,
    project,
    user_id: user_id ?? getOrganizationOwner(control, project.organization_id),
    rights: ALL_RIGHTS,
    definitions: flags.flagsOf(project.id).definitions,
    saved_max: null,
    saved_bytes_max: 0,
    expectChange: () => flags.expectChange(),
  }
}

/** What the activity log is told of one change; null stands for what is not there before or after. */
export type TargetingEdit<Thing> = {
  readonly scope: ActivityScope
  readonly item_id: number | string
  readonly name: string
  readonly before: Thing | null
  readonly after: Thing
}

/** What changes with every edit and says nothing. */
const UNREMARKABLE: ReadonlySet<string> = new Set([
  'version',
  'updated_at',
  'last_modified_by',
  'calculated_version',
])

/** What a project may keep only so many of, by scope. */
const KEPT: Partial<Record<ActivityScope, LimitedTable>> = {
  Action: actions,
  Cohort: cohorts,
  EarlyAccessFeature: early_access_features,
  Experiment: experiments,
  ExperimentSavedMetric: experiment_saved_metrics,
  FeatureFlag: feature_flags,
  Holdout: experiment_holdouts,
  Survey: surveys,
}

/**
 * Notes an edit in the activity log, beside the edit itself and in its transaction. An edit that changed nothing leaves no
 * trace. Refuses what the editor has no right to change, and what is one thing more than the project may keep.
 */
export function recordEdit<Thing extends object>(
  db: Pick<ControlDB, 'insert' | 'select'>,
  editor: TargetingEditor,
  edit: TargetingEdit<Thing>,
  now: Date,
): void {
  const { scope, before, after } = edit
  const changes: readonly ActivityChange[] = before === null ? [] : changesOf(scope, before, after)
  const is_edit = before === null || changes.length > 0
  if (is_edit) requireEdit(editor.rights, { scope, thing: before ?? after })
  const is_more = !isDeleted(after) && (before === null || isDeleted(before))
  const table = KEPT[scope]
  if (is_more && table !== undefined) requireRoom(db, table, editor)
  requireSize(db, table, editor, { before, after })
  editor.expectChange()
  if (!is_edit) return
  const is_deleted = isDeleted(after) && !isDeleted(before)
  recordActivity(
    db,
    {
      organization_id: editor.project.organization_id,
      project_id: editor.project.id,
      user_id: editor.user_id,
      scope,
      item_id: String(edit.item_id),
      activity: before === null ? 'created' : is_deleted ? 'deleted' : 'updated',
      name: edit.name,
      changes,
    },
    now,
  )
}

function isDeleted(item: object | null): boolean {
  return item !== null && 'deleted' in item && item.deleted === true
}

/** Notes that something is gone altogether. Refuses what the editor has no right to change. */
export function recordRemoval(
  db: Pick<ControlDB, 'insert'>,
  editor: TargetingEditor,
  gone: Pick<TargetingEdit<object>, 'scope' | 'item_id' | 'name'>,
  now: Date,
): void {
  requireEdit(editor.rights, { scope: gone.scope, thing: gone })
  editor.expectChange()
  recordActivity(
    db,
    {
      organization_id: editor.project.organization_id,
      project_id: editor.project.id,
      user_id: editor.user_id,
      scope: gone.scope,
      item_id: String(gone.item_id),
      activity: 'deleted',
      name: gone.name,
      changes: [],
    },
    now,
  )
}

function changesOf(scope: ActivityScope, before: object, after: object): readonly ActivityChange[] {
  return changesBetween(scope, { ...before }, { ...after }).filter(
    ({ field }) => !UNREMARKABLE.has(field),
  )
}
