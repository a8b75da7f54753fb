/** Experiments: a flag with variants, a time range, and metrics that compare the variants. */
import { and, desc, eq, sql } from 'drizzle-orm'
import { Refusal } from '../../errors.ts'
import { isObject } from '../../json.ts'
import type { Json } from '../../projects/tables.ts'
import type { ControlDB } from '../../storage/control/control-db.ts'
import { readOneByOne } from '../../threads/sliced-json.ts'
import { createFlag, findFlagByKey, getFlag } from '../flags/flag.ts'
import { recordEdit, type TargetingEditor } from '../shared/editor.ts'
import { experiments } from '../tables.ts'
import {
  buildFlagFilters,
  explainFlagRefusal,
  findContinuity,
  requireComparable,
  requireExperimentVariants,
  requireHoldout,
  requireSameKeys,
  setHoldout,
  syncExperimentFlag,
} from './experiment-flag.ts'
import {
  isSecondary,
  listLinks,
  type MetricLinkRequest,
  orderOf,
  setLinks,
  withUuids,
} from './experiment-metrics.ts'
import { uuidOf } from './saved-metric.ts'

export type Experiment = typeof experiments.$inferSelect

/** Members that an edit can set; undefined ones stay. */
export type ExperimentChanges = Partial<
  Omit<
    Experiment,
    'created_at' | 'created_by' | 'feature_flag_id' | 'id' | 'project_id' | 'updated_at'
  >
> & {
  /** Links to saved metrics. */
  readonly saved_metrics?: readonly MetricLinkRequest[]
  /** Single parameters of the experiment and of its flag; those that are not named stay. */
  readonly own_parameters?: object
  readonly flag_parameters?: object
  /** Lets the flag follow parameters after the start too. */
  readonly moves_flag?: boolean
}

/**
 * Creates an experiment on the flag with this key, which is created if it is missing. A draft's new flag is
 * off.
 */
export function createExperiment(
  editor: TargetingEditor,
  input: ExperimentChanges & { readonly name: string; readonly feature_flag_key: string },
  now: Date,
): Experiment {
  const { control, project, user_id } = editor
  const { feature_flag_key, saved_metrics = [], moves_flag: _moves, ...rest } = input
  const { own_parameters, flag_parameters, ...others } = rest
  const parameters = withParameters(others.parameters, own_parameters, flag_parameters)
  const members = parameters === undefined ? others : { ...others, parameters }
  const is_on = members.start_date instanceof Date
  return control.transaction(() => {
    const existing_flag = findFlagByKey(control, project.id, feature_flag_key)
    if (existing_flag !== null) requireExperimentVariants(existing_flag)
    if (existing_flag !== null && flag_parameters !== undefined) {
      throw refused('The feature flag exists: it keeps its settings.', 'feature_flag')
    }
    const flag =
      existing_flag ??
      explainFlagRefusal(() =>
        createFlag(
          editor,
          {
            key: feature_flag_key,
            name: `Feature flag for experiment ${input.name}`,
            filters: buildFlagFilters(editor, { ...members, is_on }),
            active: is_on,
            ensure_experience_continuity: findContinuity(members.parameters) ?? false,
            creation_context: 'experiments',
          },
          now,
        ),
      )

    if (existing_flag !== null && members.holdout_id !== undefined) {
      requireHoldout(editor, existing_flag, members.holdout_id)
      setHoldout(editor, existing_flag, members.holdout_id, now)
    }
    const bare = control
      .insert(experiments)
      .values({
        ...members,
        project_id: project.id,
        feature_flag_id: flag.id,
        created_by: user_id,
        created_at: now,
        updated_at: now,
      })
      .returning()
      .get()
    requireComparable(bare, flag)
    setLinks(control, bare, saved_metrics, now)
    const experiment = write(control, orderMetrics(control, bare))
    recordEdit(control, editor, editOf(null, experiment), now)
    return experiment
  })
}

/** Changes an experiment. A started one keeps its variants and its holdout; starting activates the flag. */
export function updateExperiment(
  editor: TargetingEditor,
  before: Experiment,
  changes: ExperimentChanges,
  now: Date,
): Experiment {
  const { control, project } = editor
  const { saved_metrics, moves_flag = false, ...rest } = changes
  const { own_parameters, flag_parameters, ...members } = rest
  const sent_parameters = withParameters(members.parameters, own_parameters, flag_parameters)
  const flag = getFlag(control, project.id, before.feature_flag_id)
  const has_begun = before.start_date !== null
  const is_starting = !has_begun && members.start_date instanceof Date
  if (is_starting) requireExperimentVariants(flag)
  if (has_begun && !moves_flag && flag_parameters !== undefined) {
    throw refused('The experiment runs: send update_feature_flag_params too.', 'feature_flag')
  }
  if (has_begun) requireSameKeys(flag, sent_parameters)
  if (has_begun && members.holdout_id !== undefined && members.holdout_id !== before.holdout_id) {
    throw refused("Can't update holdout on running Experiment", 'holdout_id')
  }
  if (before.deleted && members.deleted === false && flag.deleted) {
    throw refused('The feature flag of the experiment is deleted: restore it first.', 'deleted')
  }
  return control.transaction(() => {
    if (!has_begun || moves_flag) {
      const request = { ...members, parameters: sent_parameters, is_on: is_starting }
      syncExperimentFlag(editor, { id: before.id, flag }, request, now)
    }
    const shared_before = linkedMetrics(control, before)
    if (saved_metrics !== undefined) setLinks(control, before, saved_metrics, now)
    const stored = members.parameters ?? before.parameters
    const parameters = withParameters(stored, own_parameters, flag_parameters) ?? stored
    const changed = { ...before, ...members, parameters, updated_at: now }
    if (sent_parameters !== undefined || members.stats_config !== undefined) {
      requireComparable(changed, getFlag(control, project.id, flag.id))
    }
    const needs_order = ORDERING_MEMBERS.some((name) => Object.hasOwn(changes, name))
    const experiment = write(control, needs_order ? orderMetrics(control, changed) : changed)
    const edit = editOf(
      { ...before, saved_metrics: shared_before },
      { ...experiment, saved_metrics: linkedMetrics(control, experiment) },
    )
    recordEdit(control, editor, edit, now)
    return experiment
  })
}

/** The parameters with single ones in them; undefined where nothing was sent. */
function withParameters(
  parameters: Json | undefined,
  own_parameters: object | undefined,
  flag_parameters: object | undefined,
): Json | undefined {
  if (own_parameters === undefined && flag_parameters === undefined) return parameters
  return { ...(isObject(parameters) ? parameters : {}), ...own_parameters, ...flag_parameters }
}

/** Members whose change requires metrics to be ordered again. */
const ORDERING_MEMBERS = [
  'metrics',
  'primary_metrics_ordered_uuids',
  'saved_metrics',
  'secondary_metrics',
  'secondary_metrics_ordered_uuids',
] as const

/** Gives every metric a unique uuid and a position in the display order. */
function orderMetrics(db: ControlDB, experiment: Experiment): Experiment {
  const links = listLinks(db, experiment)
  const taken = new Set(links.flatMap(({ metric }) => uuidOf(metric.query) ?? []))
  const metrics = withUuids(experiment.metrics, taken)
  const own = Array.isArray(metrics) ? metrics.flatMap((metric) => uuidOf(metric) ?? []) : []
  const secondary_metrics = withUuids(experiment.secondary_metrics, new Set([...taken, ...own]))
  const { primary_metrics_ordered_uuids: first, secondary_metrics_ordered_uuids: second } =
    experiment
  const shared = links.filter((link) => !isSecondary(link))
  return {
    ...experiment,
    metrics,
    secondary_metrics,
    primary_metrics_ordered_uuids: orderOf(first, metrics, shared),
    secondary_metrics_ordered_uuids: orderOf(second, secondary_metrics, links.filter(isSecondary)),
  }
}

/** The linked saved metrics, as the activity log records them. */
function linkedMetrics(db: ControlDB, experiment: Experiment): readonly object[] {
  const links = listLinks(db, experiment)
  return links.map(({ metric, metadata }) => ({ id: metric.id, name: metric.name, metadata }))
}

/** Returns the project's experiment with this id, deleted or not. Refuses when there is none. */
export function getExperiment(db: ControlDB, project_id: number, id: number): Experiment {
  const its = and(eq(experiments.project_id, project_id), eq(experiments.id, id))
  const experiment = db.select().from(experiments).where(its).get()
  if (experiment === undefined) throw new Refusal('not_found', 'Not found.')
  return experiment
}

/** Returns the experiment unless it is deleted. */
export function getPresentExperiment(db: ControlDB, project_id: number, id: number): Experiment {
  const experiment = getExperiment(db, project_id, id)
  if (experiment.deleted) throw new Refusal('not_found', 'Not found.')
  return experiment
}

/** The members by which experiments are found, without the long ones. */
type ExperimentHead = Pick<
  Experiment,
  'archived' | 'end_date' | 'exposure_cohort_id' | 'feature_flag_id' | 'id' | 'name' | 'start_date'
>

/** Lists a project's experiments that are not deleted without their long members, newest first. */
export function listExperimentHeads(db: ControlDB, project_id: number): readonly ExperimentHead[] {
  const { id, name, archived, feature_flag_id, exposure_cohort_id } = experiments
  const { start_date, end_date, deleted } = experiments
  return db
    .select({ id, name, archived, feature_flag_id, exposure_cohort_id, start_date, end_date })
    .from(experiments)
    .where(and(eq(experiments.project_id, project_id), eq(deleted, false)))
    .orderBy(desc(id))
    .all()
}

/** Reads a project's experiments that are not deleted, newest first, in slices of the event loop. */
export async function readExperiments(
  db: ControlDB,
  project_id: number,
): Promise<readonly Experiment[]> {
  const one = db
    .select()
    .from(experiments)
    .where(eq(experiments.id, sql.placeholder('id')))
    .prepare()
  const heads = listExperimentHeads(db, project_id)
  const present = await readOneByOne(heads, ({ id }) => one.get({ id }))
  return present.filter(({ deleted }) => !deleted)
}

function write(db: ControlDB, experiment: Experiment): Experiment {
  return db
    .update(experiments)
    .set(experiment)
    .where(eq(experiments.id, experiment.id))
    .returning()
    .get()
}

function refused(detail: string, attr: string): Refusal {
  return new Refusal('invalid_input', detail, { attr })
}

function editOf(before: object | null, after: Experiment & { readonly saved_metrics?: unknown }) {
  return { scope: 'Experiment', item_id: after.id, name: after.name, before, after } as const
}
