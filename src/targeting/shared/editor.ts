/** The editor of a change: user, project, rights and limits, and the flags before the change. */
import type { CompiledFlags } from '../../flags/definition.ts'
import {
  type ActivityChange,
  type ActivityScope,
  changesBetween,
  recordActivity,
} from '../../projects/activity.ts'
import { getOrganizationOwner } from '../../projects/organization.ts'
import { type LimitedTable, requireRoom, requireSize } from '../../projects/quota.ts'
import { ALL_RIGHTS, type Rights, requireEdit } from '../../projects/rights/rights.ts'
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

type TargetingEditorContext = {
  readonly control: ControlDB
  readonly flags: Pick<FlagDefinitions, 'expectChange' | 'readyFlagsOf'>
}

/** The kinds of definitions here that queries read. */
const READ_SCOPES = ['Action', 'Cohort', 'Experiment'] as const
type ReadScope = (typeof READ_SCOPES)[number]

const isRead = (scope: ActivityScope): scope is ReadScope =>
  READ_SCOPES.some((one) => one === scope)

export type TargetingEditor = {
  readonly control: ControlDB
  readonly project: { readonly id: number; readonly organization_id: string }
  readonly user_id: number
  /** Rights of the caller: every edit is checked, whatever route it comes from. */
  readonly rights: Rights
  /** The most objects of one kind in a project; null for the program's own edits. */
  readonly saved_max: number | null
  /** The most flags in a project, if fewer. */
  readonly flags_max: number
  /** The most bytes that all objects of a kind take together. */
  readonly saved_bytes_max: number
  /** The definitions before the change, read outside of its transaction. */
  readonly definitions: CompiledFlags
  /** Called after every edit: the rest of this turn of the event loop must see it. */
  readonly expectChange: () => void
  /** Called in the transaction of an edit of what queries read: open links and alerts may show more by it. */
  readonly narrowReaders: (scope: ReadScope) => void
}

/** Creates an editor for the program's own changes, on behalf of a user or else of the organization's owner. */
export async function editorFor(
  { control, flags }: TargetingEditorContext,
  project: TargetingEditor['project'],
  user_id: number | null,
): Promise<TargetingEditor> {
  // Earlier changes of the same turn must be part of the definitions.
  flags.expectChange()
  const { definitions } = await flags.readyFlagsOf(project.id)
  return {
    control,
    project,
    user_id: user_id ?? getOrganizationOwner(control, project.organization_id),
    rights: ALL_RIGHTS,
    definitions,
    saved_max: null,
    flags_max: 0,
    saved_bytes_max: 0,
    expectChange: () => flags.expectChange(),
    narrowReaders: () => undefined,
  }
}

/** One change for the activity log; null for an object that does not exist before or after. */
type TargetingEdit<Item> = {
  readonly scope: ActivityScope
  readonly item_id: number | string
  readonly name: string
  readonly before: Item | null
  readonly after: Item
}

/** Members that change with every edit and are not logged. */
const UNLOGGED_MEMBERS: ReadonlySet<string> = new Set([
  'version',
  'updated_at',
  'last_modified_by',
  'calculated_version',
])

/** Tables of objects whose number is limited, by scope. */
const LIMITED_TABLES: Partial<Record<ActivityScope, LimitedTable>> = {
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
 * Their share of `saved_bytes_max`, since they are read as a whole by clients, flags or queries, as insights are not.
 * Flags, cohorts and surveys may be large, and are read in slices of the event loop.
 */
const BYTES_SHARES: Partial<Record<ActivityScope, number>> = {
  Cohort: 1 / 4,
  FeatureFlag: 1 / 4,
  Survey: 1 / 4,
}
const BYTES_SHARE = 1 / 16

/**
 * Records an edit in the activity log, in the transaction of the edit. An edit without changes is not logged.
 * Refuses edits that the editor has no right to, and one object more than the project may have.
 */
export function recordEdit<Item extends object>(
  db: Pick<ControlDB, 'insert' | 'select'>,
  editor: TargetingEditor,
  edit: TargetingEdit<Item>,
  now: Date,
): void {
  const { scope, before, after } = edit
  const changes: readonly ActivityChange[] = before === null ? [] : changesOf(scope, before, after)
  const is_edit = before === null || changes.length > 0
  if (is_edit) requireEdit(editor.rights, { scope, item: before ?? after })
  const is_more = !isDeleted(after) && (before === null || isDeleted(before))
  const table = LIMITED_TABLES[scope]
  const quota = {
    project: editor.project,
    saved_max: countLimit(editor, scope),
    saved_bytes_max: Math.floor(editor.saved_bytes_max * (BYTES_SHARES[scope] ?? BYTES_SHARE)),
  }
  if (is_more && table !== undefined) requireRoom(db, table, quota)
  requireSize(db, table, quota, { before, after })
  editor.expectChange()
  if (!is_edit) return
  if (isRead(scope)) editor.narrowReaders(scope)
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

function countLimit(
  { saved_max, flags_max }: TargetingEditor,
  scope: ActivityScope,
): number | null {
  return saved_max !== null && scope === 'FeatureFlag' ? Math.min(saved_max, flags_max) : saved_max
}

function isDeleted(item: object | null): boolean {
  return item !== null && 'deleted' in item && item.deleted === true
}

/** Records that an object was removed. Refuses removals that the editor has no right to. */
export function recordRemoval(
  db: Pick<ControlDB, 'insert'>,
  editor: TargetingEditor,
  removal: Pick<TargetingEdit<object>, 'scope' | 'item_id' | 'name'> & { readonly item?: object },
  now: Date,
): void {
  requireEdit(editor.rights, { scope: removal.scope, item: removal.item ?? removal })
  editor.expectChange()
  recordActivity(
    db,
    {
      organization_id: editor.project.organization_id,
      project_id: editor.project.id,
      user_id: editor.user_id,
      scope: removal.scope,
      item_id: String(removal.item_id),
      activity: 'deleted',
      name: removal.name,
      changes: [],
    },
    now,
  )
}

function changesOf(scope: ActivityScope, before: object, after: object): readonly ActivityChange[] {
  return changesBetween(scope, { ...before }, { ...after }).filter(
    ({ field }) => !UNLOGGED_MEMBERS.has(field),
  )
}
