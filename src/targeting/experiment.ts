/** Experiments: a flag with variants, who is shown which from when to when, and who is held out (wire §4.10). */
import { and, desc, eq } from 'drizzle-orm'
import { Refusal } from '../errors.ts'
import { isRecord } from '../flags/value.ts'
import type { ControlDB } from '../storage/control.ts'
import { type Editor, noteEdit } from './editor.ts'
import { createFlag, type Flag, findFlagByKey, getFlag, updateFlag } from './flag.ts'
import { getHoldout } from './holdout.ts'
import { experiments } from './tables.ts'

export type Experiment = typeof experiments.$inferSelect

/** What may be said of an experiment; what is not said stays. */
export type WantedExperiment = Partial<
  Pick<
    Experiment,
    | 'archived'
    | 'deleted'
    | 'description'
    | 'end_date'
    | 'exposure_cohort_id'
    | 'exposure_criteria'
    | 'filters'
    | 'holdout_id'
    | 'metrics'
    | 'name'
    | 'parameters'
    | 'secondary_metrics'
    | 'start_date'
    | 'stats_config'
    | 'type'
    | 'variants'
  >
>

const CONTROL = 'control'
const EVEN_VARIANTS = [
  { key: CONTROL, rollout_percentage: 50 },
  { key: 'test', rollout_percentage: 50 },
]

/** Makes an experiment on the flag of this key, which is made when it is not there. A draft's new flag is off. */
export function createExperiment(
  editor: Editor,
  wanted: WantedExperiment & { readonly name: string; readonly feature_flag_key: string },
  now: Date,
): Experiment {
  const { control, project, user_id } = editor
  const { feature_flag_key, ...said } = wanted
  return control.transaction(() => {
    const present = findFlagByKey(control, project.id, feature_flag_key)
    if (present !== null) requireFit(control, present)
    const filters = newFilters(editor, wanted)
    const flag =
      present ??
      createFlag(
        editor,
        {
          key: feature_flag_key,
          name: `Feature flag for experiment ${wanted.name}`,
          filters,
          active: said.start_date instanceof Date,
          creation_context: 'experiments',
        },
        now,
      )
    if (present !== null && said.holdout_id !== undefined) {
      setHoldout(editor, present, said.holdout_id, now)
    }
    const experiment = control
      .insert(experiments)
      .values({
        ...said,
        project_id: project.id,
        feature_flag_id: flag.id,
        created_by: user_id,
        created_at: now,
        updated_at: now,
      })
      .returning()
      .get()
    noteEdit(control, editor, editOf(null, experiment), now)
    return experiment
  })
}

/** Changes an experiment. One that has begun keeps its variants and its holdout; beginning switches the flag on. */
export function updateExperiment(
  editor: Editor,
  before: Experiment,
  wanted: WantedExperiment,
  now: Date,
): Experiment {
  const { control, project } = editor
  const flag = getFlag(control, project.id, before.feature_flag_id)
  const variants = variantsIn(wanted.parameters)
  const has_begun = before.start_date !== null
  if (has_begun && variants !== null && !Bun.deepEquals(variants, variantsOf(flag))) {
    throw refused("Can't update feature_flag_variants on Experiment", 'parameters')
  }
  const holdout_id = wanted.holdout_id === undefined ? before.holdout_id : wanted.holdout_id
  if (has_begun && holdout_id !== before.holdout_id) {
    throw refused("Can't update holdout on running Experiment", 'holdout_id')
  }
  return control.transaction(() => {
    if (!has_begun) bringIntoLine(editor, { ...before, ...wanted, holdout_id }, flag, now)
    const experiment = control
      .update(experiments)
      .set({ ...before, ...wanted, updated_at: now })
      .where(eq(experiments.id, before.id))
      .returning()
      .get()
    noteEdit(control, editor, editOf(before, experiment), now)
    return experiment
  })
}

/** The project's experiment of this id. Refuses when there is none. */
export function getExperiment(db: ControlDB, project_id: number, id: number): Experiment {
  const its = and(eq(experiments.project_id, project_id), eq(experiments.id, id))
  const experiment = db.select().from(experiments).where(its).get()
  if (experiment === undefined) throw new Refusal('not_found', 'Not found.')
  return experiment
}

/** A project's experiments that are not deleted, newest first. */
export function listExperiments(db: ControlDB, project_id: number): readonly Experiment[] {
  const its = and(eq(experiments.project_id, project_id), eq(experiments.deleted, false))
  return db.select().from(experiments).where(its).orderBy(desc(experiments.id)).all()
}

/** The variants that an experiment compares, the control first. */
export function variantKeys(flag: Flag): readonly string[] {
  return (variantsOf(flag) ?? []).flatMap((one) =>
    isRecord(one) && typeof one['key'] === 'string' ? one['key'] : [],
  )
}

/** Puts a holdout's condition into a flag, or takes it out. */
export function setHoldout(editor: Editor, flag: Flag, holdout_id: number | null, now: Date): void {
  const filters = isRecord(flag.filters) ? flag.filters : {}
  const holdout_groups = holdoutGroups(editor, holdout_id)
  if (Bun.deepEquals(filters['holdout_groups'] ?? null, holdout_groups)) return
  updateFlag(editor, flag, { filters: { ...filters, holdout_groups } }, now)
}

/** A draft's flag has the draft's variants and holdout; it is on from the beginning. */
function bringIntoLine(editor: Editor, experiment: Experiment, flag: Flag, now: Date): void {
  const filters = isRecord(flag.filters) ? flag.filters : {}
  const variants = variantsIn(experiment.parameters) ?? variantsOf(flag)
  const holdout_groups = holdoutGroups(editor, experiment.holdout_id)
  const wanted = { ...filters, multivariate: { variants }, holdout_groups }
  const active = flag.active || experiment.start_date !== null
  if (Bun.deepEquals(filters, wanted) && active === flag.active) return
  updateFlag(editor, flag, { filters: wanted, active }, now)
}

function newFilters(editor: Editor, wanted: WantedExperiment): object {
  const parameters = isRecord(wanted.parameters) ? wanted.parameters : {}
  const rollout_percentage = parameters['rollout_percentage'] ?? 100
  return {
    groups: [{ properties: [], rollout_percentage }],
    multivariate: { variants: variantsIn(wanted.parameters) ?? EVEN_VARIANTS },
    aggregation_group_type_index: parameters['aggregation_group_type_index'] ?? null,
    holdout_groups: holdoutGroups(editor, wanted.holdout_id ?? null),
  }
}

function holdoutGroups({ control, project }: Editor, holdout_id: number | null): unknown {
  return holdout_id === null ? null : getHoldout(control, project.id, holdout_id).filters
}

/** An experiment needs something to compare with, and a flag that no other experiment moves. */
function requireFit(db: ControlDB, flag: Flag): void {
  const [first] = variantsOf(flag) ?? []
  if (!isRecord(first) || first['key'] !== CONTROL) {
    throw refused('Feature flag must have control as the first variant.', 'feature_flag_key')
  }
  const its = and(eq(experiments.feature_flag_id, flag.id), eq(experiments.deleted, false))
  if (db.select().from(experiments).where(its).get() === undefined) return
  throw refused('Feature flag is already used by an experiment.', 'feature_flag_key')
}

function variantsIn(parameters: unknown): readonly unknown[] | null {
  const variants = isRecord(parameters) ? parameters['feature_flag_variants'] : null
  if (!Array.isArray(variants) || variants.length === 0) return null
  const [first] = variants as readonly unknown[]
  if (isRecord(first) && first['key'] === CONTROL) return variants
  throw refused('Feature flag variants must contain a control variant first.', 'parameters')
}

function variantsOf({ filters }: Flag): readonly unknown[] | null {
  const multivariate = isRecord(filters) ? filters['multivariate'] : null
  const variants = isRecord(multivariate) ? multivariate['variants'] : null
  return Array.isArray(variants) ? variants : null
}

function refused(detail: string, attr: string): Refusal {
  return new Refusal('invalid_input', detail, { attr })
}

function editOf(before: Experiment | null, after: Experiment) {
  return { scope: 'Experiment', item_id: after.id, name: after.name, before, after } as const
}
