/**
 * Exposure to an experiment: which events count, of which actors, and how actors with several
 * variants are treated.
 */

import type { Series } from '../../../contract/insights/parts.ts'
import { Refusal, refuseMember } from '../../../errors.ts'
import type { Expr, SelectQuery } from '../../../hogql/syntax/ast.ts'
import { compare, constant, field, tuple } from '../../../hogql/syntax/nodes.ts'
import { expr, select } from '../../../hogql/template.ts'
import { isObject } from '../../../json.ts'
import type { InsightContext } from '../../insight.ts'
import { allOf, queryCondition } from '../../members/conditions.ts'
import { seriesCondition } from '../../members/series.ts'
import type { ExperimentDefinition } from '../experiment-definition.ts'
import { readSeries } from '../metric.ts'
import { readSettings, type StatsSettings } from '../settings.ts'

/** An experiment as its queries need it: flag, time, variants, actors and settings. */
export type ExperimentTrial = {
  readonly flag_key: string
  /** The compared variants, the baseline first. */
  readonly variants: readonly string[]
  readonly from: Date
  readonly to: Date
  /** Variants whose exposures count: the compared ones and the holdout's. */
  readonly counted_variants: readonly string[]
  /** The column of the actor: persons, or groups of a type. */
  readonly actor: string
  readonly criteria: ExposureCriteria
  readonly settings: StatsSettings
  /** Only actors whose conversion window is over count. */
  readonly is_matured_only: boolean
}

/** Exposure criteria of an experiment. */
type ExposureCriteria = {
  /** The events that are exposures. */
  readonly series: Series
  readonly filterTestAccounts: boolean
  /** An actor with several variants counts in the first of them; otherwise in none. */
  readonly takes_first: boolean
}

/** The name under which actors with several variants are counted. */
export const MULTIPLE = '$multiple'

/** Maximum variants in an answer; a flag has far fewer. */
export const VARIANTS_MAX = 1000n

const FLAG_CALLED = '$feature_flag_called'
const HANDLINGS: ReadonlySet<unknown> = new Set(['exclude', 'first_seen', null, undefined])

/** The time range of an experiment so far. Refuses an experiment that has not begun, and names `attr`. */
export function experimentTrial(
  experiment: ExperimentDefinition,
  now: Date,
  attr: string,
): ExperimentTrial {
  const { flag_key, variants, holdout_id, start_date, end_date } = experiment
  const settings = readSettings(experiment.stats_config, 'stats_config')
  if (start_date === null) {
    throw refuseMember('The experiment has not started.', attr)
  }
  return {
    flag_key,
    variants: baselineFirst(variants, settings.baseline),
    from: start_date,
    to: end_date ?? now,
    counted_variants: holdout_id === null ? variants : [...variants, `holdout-${holdout_id}`],
    actor: actorColumn(experiment.group_type_index),
    criteria: readCriteria(experiment.exposure_criteria, 'exposure_criteria'),
    settings,
    is_matured_only: experiment.only_count_matured_users,
  }
}

function baselineFirst(variants: readonly string[], baseline: string | null): readonly string[] {
  if (baseline === null || !variants.includes(baseline)) return variants
  return [baseline, ...variants.filter((key) => key !== baseline)]
}

/** Parses stored criteria; null means the defaults. Refuses (naming `attr`) invalid ones. */
export function readCriteria(raw: unknown, attr: string): ExposureCriteria {
  const criteria = isObject(raw) ? raw : {}
  const { exposure_config: config, multiple_variant_handling: handling } = criteria
  if (!HANDLINGS.has(handling)) {
    const detail = `${JSON.stringify(handling).slice(0, 100)} is not a valid choice.`
    throw new Refusal('invalid_choice', detail, { attr })
  }
  return {
    series: isObject(config)
      ? readSeries(config['kind'] === 'ActionsNode' ? config : asEvents(config), attr)
      : { kind: 'EventsNode', event: FLAG_CALLED },
    filterTestAccounts: criteria['filterTestAccounts'] === true,
    takes_first: handling === 'first_seen',
  }
}

/** Rows: variant, actors. */
export function exposuresTree(trial: ExperimentTrial, context: InsightContext): SelectQuery {
  return select`
    select variant, count()
    from ${exposures(trial, null, context)}
    group by variant order by variant limit ${constant(VARIANTS_MAX)}`
}

/** Rows: variant, day, actors first exposed on it. */
export function dailyExposuresTree(trial: ExperimentTrial, context: InsightContext): SelectQuery {
  return select`
    select variant, toDate(first_at) as day, count()
    from ${exposures(trial, null, context)}
    group by variant, day order by variant, day`
}

/** Rows: actor, time of first exposure, variant; `is_measured` tells test accounts, `window_s` is the conversion window. */
export function exposures(
  trial: ExperimentTrial,
  is_measured: Expr | null,
  context: InsightContext,
  window_s: number | null = null,
): SelectQuery {
  const is_over = isWindowOver(trial, expr`min(timestamp)`, window_s, context)
  return select`
    select actor, min(timestamp) as first_at, ${variantOf(trial, null)} as variant
    from (
      select ${field([trial.actor])} as actor, timestamp, ${shownVariants(trial)} as shown
      from events
      where ${exposureWindow(trial)} and ${allOf(is_measured, isActor(trial))} and ${isShown(trial, context)}
    )
    group by actor
    having ${is_over}`
}

/** The condition that a conversion window is over, where only matured actors count. */
export function isWindowOver(
  { is_matured_only }: ExperimentTrial,
  moment: Expr,
  window_s: number | null,
  { now }: InsightContext,
): Expr {
  if (!is_matured_only || window_s === null) return constant(true)
  const latest = new Date(now.getTime() - window_s * 1000).toISOString()
  return expr`${moment} <= toDateTime(${constant(latest)})`
}

/** The variant of an actor, from the events that satisfy `is_shown`. */
export function variantOf({ criteria }: ExperimentTrial, is_shown: Expr | null): Expr {
  if (criteria.takes_first) {
    return is_shown === null
      ? expr`argMin(shown, timestamp)`
      : expr`argMinIf(shown, timestamp, ${is_shown})`
  }
  const multiple = constant(MULTIPLE)
  return is_shown === null
    ? expr`if(count(distinct shown) > 1, ${multiple}, any(shown))`
    : expr`if(uniqExactIf(shown, ${is_shown}) > 1, ${multiple}, anyIf(shown, ${is_shown}))`
}

/** The variant of an exposure event; '' when it has none. */
export function shownVariants({ criteria, flag_key }: ExperimentTrial): Expr {
  const name = isFlagCalled(criteria) ? '$feature_flag_response' : `$feature/${flag_key}`
  return expr`ifNull(toString(${field(['properties', name])}), '')`
}

/** The condition that an event is an exposure. */
export function isShown(trial: ExperimentTrial, context: InsightContext): Expr {
  const { criteria, flag_key } = trial
  const { filterTestAccounts, series } = criteria
  const is_of_flag = isFlagCalled(criteria)
    ? compare(field(['properties', '$feature_flag']), '==', constant(flag_key))
    : null
  const is_exposure = allOf(
    seriesCondition({ series, index: 0 }, context, 'exposure_criteria'),
    is_of_flag,
    queryCondition({ filterTestAccounts }, context),
  )
  const variants = tuple(trial.counted_variants.map((key) => constant(key)))
  return expr`ifNull(${is_exposure}, false) and ${shownVariants(trial)} in ${variants}`
}

/**
 * The condition that an event happened while the experiment ran, or within some seconds after or
 * before it.
 */
export function exposureWindow({ from, to }: ExperimentTrial, longer_s = 0, earlier_s = 0): Expr {
  const start = new Date(from.getTime() - earlier_s * 1000)
  const end = new Date(to.getTime() + longer_s * 1000)
  return expr`timestamp >= toDateTime(${constant(start.toISOString())}) and timestamp <= toDateTime(${constant(end.toISOString())})`
}

/** The condition that an event has an actor; null where every event has one. */
export function isActor({ actor }: ExperimentTrial): Expr | null {
  return actor === PERSON ? null : expr`${field([actor])} != ''`
}

const PERSON = 'person_id'

/** The column of events with the actor's id: the person, or the group of a type's index. */
function actorColumn(group_type_index: number | null): string {
  return group_type_index === null ? PERSON : `$group_${group_type_index}`
}

function isFlagCalled({ series }: ExposureCriteria): boolean {
  return series.kind === 'EventsNode' && series.event === FLAG_CALLED
}

/** Criteria have a node kind of their own for events. */
function asEvents(config: Readonly<Record<string, unknown>>): object {
  return { ...config, kind: 'EventsNode' }
}
