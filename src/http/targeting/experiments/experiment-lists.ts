/** Lists of experiments: filters, orders, flags available to experiments, and statistics. */

import {
  EligibleFlags,
  EligibleFlagsQuery,
  ExperimentStats,
} from '../../../contract/targeting/experiments.ts'
import { Refusal } from '../../../errors.ts'
import { readMetric } from '../../../insights/experiments/metric.ts'
import { isYes } from '../../../insights/legacy/legacy-filters.ts'
import { stepsOf } from '../../../insights/members/actions.ts'
import { memoizeValue } from '../../../memoize.ts'
import type { Project } from '../../../projects/settings/project.ts'
import { findUser } from '../../../projects/users/user.ts'
import { listActions } from '../../../targeting/action.ts'
import {
  type Experiment,
  listExperimentHeads,
  readExperiments,
} from '../../../targeting/experiments/experiment.ts'
import { variantKeys } from '../../../targeting/experiments/experiment-flag.ts'
import { statusOfExperiment } from '../../../targeting/experiments/experiment-lifecycle.ts'
import { listLinks } from '../../../targeting/experiments/experiment-metrics.ts'
import { type Flag, getFlag, readFlags } from '../../../targeting/flags/flag.ts'
import { readLinks } from '../../../targeting/flags/flag-links.ts'
import { mapInSlices } from '../../../threads/sliced-json.ts'
import { DAY_MS } from '../../../time.ts'
import { queryOf } from '../../addresses.ts'
import { answerJson } from '../../answers/answers.ts'
import { queryValue, readPage, requireSearch } from '../../answers/pages.ts'
import type { AppContext } from '../../app-context.ts'
import { projectRoute } from '../../route.ts'
import { flagSerializer } from '../flags/flag-serializer.ts'
import { makeFilters } from '../list-filters.ts'

const CONTROL = 'control'
const FLAGS_PAGE = { usual: 20, max: 100 } as const
const MONTH_DAYS = 30

export const EXPERIMENT_LIST_ROUTES = [
  projectRoute({
    method: 'GET',
    path: 'experiments/eligible_feature_flags/',
    scope: 'feature_flag:read',
    summary:
      'List the flags that experiments can use: with variants, of which the first is control.',
    query: EligibleFlagsQuery,
    answers: { 200: EligibleFlags },
    answer: async (app, { request, caller, project }) => {
      const result = await findEligible(app, project, new URLSearchParams(queryOf(request.url)))
      const { limit, offset } = readPage(request, { limit_max: FLAGS_PAGE.max })
      const has_limit = queryValue(request, 'limit') !== null
      const shown = has_limit ? limit : FLAGS_PAGE.usual
      const serialize = await flagSerializer(app, { caller, project })
      const results = result.slice(offset, offset + shown).map(serialize)
      return answerJson({ results, count: result.length })
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'experiments/stats/',
    scope: 'experiment:read',
    summary: 'Count the running experiments, and those started and ended in the last thirty days.',
    answers: { 200: ExperimentStats },
    answer: async (app, { project }) => answerJson(await statsOf(app, project)),
  }),
] as const

/** An experiment in a list, with the members that filters and orders read. */
type ListedExperiment = {
  readonly experiment: Experiment
  readonly flag: () => Flag
  readonly events: () => ReadonlySet<string>
  readonly author: () => string
}
type ExperimentFilter = (stored: ListedExperiment) => boolean

/** FILTERS of a list: the parameter, and a predicate for its value. */
const FILTERS: Readonly<Record<string, (value: string) => ExperimentFilter>> = {
  status: (value) => {
    const status = value.toLowerCase() === 'complete' ? 'stopped' : value.toLowerCase()
    return (stored) =>
      !STATUSES.has(status) ||
      statusOfExperiment({ experiment: stored.experiment, flag: stored.flag() }) === status
  },
  search: (value) => {
    const search_text = requireSearch(value).toLowerCase()
    return ({ experiment }) => experiment.name.toLowerCase().includes(search_text)
  },
  created_by_id: (value) => {
    return ({ experiment }) => String(experiment.created_by) === value
  },
  feature_flag_id: (value) => {
    const wanted = wholeIn(value, 'feature_flag_id')
    return ({ experiment }) => experiment.feature_flag_id === wanted
  },
  event: (value) => {
    return ({ events }) => events().has(value)
  },
}
const STATUSES: ReadonlySet<string> = new Set(['draft', 'running', 'paused', 'stopped'])

/** ORDERS of a list; null sorts last in ascending order. */
const ORDERS: Readonly<
  Record<string, (stored: ListedExperiment, now: Date) => number | string | null>
> = {
  name: ({ experiment }) => experiment.name.toLowerCase(),
  created_at: ({ experiment }) => experiment.created_at.getTime(),
  updated_at: ({ experiment }) => experiment.updated_at.getTime(),
  start_date: ({ experiment }) => experiment.start_date?.getTime() ?? null,
  end_date: ({ experiment }) => experiment.end_date?.getTime() ?? null,
  duration: ({ experiment: { start_date, end_date } }, now) =>
    start_date === null ? null : (end_date ?? now).getTime() - start_date.getTime(),
  status: ({ experiment: { start_date, end_date } }) =>
    start_date === null ? 0 : end_date === null ? 1 : 2,
  created_by: ({ author }) => author().toLowerCase(),
}

/** Returns the experiments that a request lists: by default newest first, without archived ones. */
export async function findExperiments(
  app: AppContext,
  project: Project,
  request: Request,
): Promise<readonly Experiment[]> {
  const query = new URLSearchParams(queryOf(request.url))
  const archived = isYes(query.get('archived'))
  const order = query.get('order') || '-created_at'
  const rankOf = findOrder(ORDERS, order)
  const filters = makeFilters(FILTERS, query)
  const now = app.now()
  const sign = order.startsWith('-') ? -1 : 1
  const ranked = await mapInSlices(await readListed(app, project), (stored) => {
    const is_listed =
      stored.experiment.archived === archived && filters.every((filter) => filter(stored))
    return is_listed ? [{ stored, rank: rankOf(stored, now) }] : []
  })
  return ranked
    .flat()
    .toSorted((a, b) => sign * compare(a.rank, b.rank))
    .map(({ stored }) => stored.experiment)
}

function compare(a: number | string | null, b: number | string | null): number {
  if (a === b) return 0
  if (a === null) return 1
  if (b === null) return -1
  return a < b ? -1 : 1
}

async function readListed(
  app: AppContext,
  { id: project_id }: Project,
): Promise<readonly ListedExperiment[]> {
  const { control } = app
  const actionsById = memoizeValue(
    () => new Map(listActions(control, project_id).map((one) => [one.id, one])),
  )
  const present = await readExperiments(control, project_id)
  return present.map((experiment) => {
    const flag = () => getFlag(control, project_id, experiment.feature_flag_id)
    const shared = () => listLinks(control, experiment).map(({ metric }) => metric.query)
    const own = [experiment.metrics, experiment.secondary_metrics].flatMap(
      (list): readonly unknown[] => (Array.isArray(list) ? list : []),
    )
    const events = () =>
      new Set(
        [...own, ...shared()].flatMap(nodesOf).flatMap((node) => {
          if (node.kind === 'EventsNode') return node.event ?? []
          const action = node.kind === 'ActionsNode' ? actionsById().get(node.id) : undefined
          return action === undefined ? [] : stepsOf(action).flatMap(({ event }) => event ?? [])
        }),
      )
    return { experiment, flag, events, author: () => authorOf(app, experiment) }
  })
}

/** Returns the event and action nodes of a metric; none for an unreadable metric. */
function nodesOf(metric: unknown) {
  try {
    const { series, measures, retention } = readMetric(metric, 'metrics')
    const ends = retention === null ? [] : [retention.start, retention.completion]
    return [...series, ...measures.map((one) => one.series), ...ends]
  } catch (error) {
    if (error instanceof Refusal) return []
    throw error
  }
}

function authorOf(app: AppContext, { created_by }: Experiment): string {
  const user = created_by === null ? null : findUser(app.control, created_by)
  return user === null ? '' : user.first_name || (user.email ?? '')
}

/** FILTERS of a list of flags. */
const FLAG_FILTERS: Readonly<Record<string, (value: string) => (flag: Flag) => boolean>> = {
  search: (value) => {
    const search_text = requireSearch(value).toLowerCase()
    return ({ key, name }) =>
      key.toLowerCase().includes(search_text) || name.toLowerCase().includes(search_text)
  },
  active: (value) => (flag) => flag.active === isYes(value),
  created_by_id: (value) => (flag) => String(flag.created_by) === value,
  evaluation_runtime: (value) => (flag) => flag.evaluation_runtime === value,
  has_evaluation_contexts: (value) => (flag) =>
    flag.evaluation_contexts.length > 0 === isYes(value),
}

const FLAG_ORDERS: Readonly<Record<string, (flag: Flag) => number | string>> = {
  created_at: ({ created_at }) => created_at.getTime(),
  key: ({ key }) => key,
  name: ({ name }) => name,
}

async function findEligible(
  app: AppContext,
  project: Project,
  query: URLSearchParams,
): Promise<readonly Flag[]> {
  const linksOf = await readLinks(app.control, project.id)
  const order = query.get('order') || '-created_at'
  const rankOf = findOrder(FLAG_ORDERS, order)
  const sign = order.startsWith('-') ? -1 : 1
  const filters = makeFilters(FLAG_FILTERS, query)
  const flags = await readFlags(app.control, project.id)
  return flags
    .filter((flag) => {
      const [first, ...others] = variantKeys(flag)
      const is_fit = first === CONTROL && others.length > 0
      return is_fit && !linksOf(flag.id).is_of_survey && filters.every((filter) => filter(flag))
    })
    .toReversed()
    .toSorted((a, b) => sign * compare(rankOf(a), rankOf(b)))
}

/** Finds the rank function of an order; a `-` before its name is ignored here. Refuses unknown names. */
function findOrder<Rank>(orders: Readonly<Record<string, Rank>>, order: string): Rank {
  const name = order.replace('-', '')
  const rank = Object.hasOwn(orders, name) ? orders[name] : undefined
  if (rank !== undefined) return rank
  const detail = `"${order.slice(0, 100)}" is not a valid choice.`
  throw new Refusal('invalid_choice', detail, { attr: 'order' })
}

function wholeIn(value: string, attr: string): number {
  if (/^\d{1,15}$/.test(value)) return Number(value)
  throw new Refusal('invalid_input', 'A valid integer is required.', { attr })
}

/** Counts experiments by state; days are those of the project's time zone. */
async function statsOf(app: AppContext, project: Project): Promise<object> {
  const format = new Intl.DateTimeFormat('en-CA', { timeZone: project.timezone })
  const today = format.format(app.now())
  const daysAgo = (days: number): string =>
    new Date(Date.parse(today) - days * DAY_MS).toISOString().slice(0, 10)
  const dayOf = (moment: Date | null): string | null => moment && format.format(moment)
  const heads = listExperimentHeads(app.control, project.id).filter((one) => !one.archived)
  // Formatting 20,000 dates twice takes 70 ms.
  const all = await mapInSlices(heads, ({ start_date, end_date }) => ({
    began: dayOf(start_date),
    ended: dayOf(end_date),
  }))
  // Today is the last of the days.
  const [month, tomorrow] = [daysAgo(MONTH_DAYS - 1), daysAgo(-1)]
  const began = all.map((one) => one.began)
  const ended = all.map((one) => one.ended)
  const launched = countWithin(began, month, tomorrow)
  const earlier = countWithin(began, daysAgo(2 * MONTH_DAYS - 1), month)
  const change = earlier === 0 ? (launched > 0 ? 100 : 0) : (100 * (launched - earlier)) / earlier
  return {
    launched_last_30d: launched,
    launched_previous_30d: earlier,
    percent_change: Math.round(change * 10) / 10,
    active_experiments: all.filter((one) => one.began !== null && one.ended === null).length,
    completed_last_30d: countWithin(ended, month, tomorrow),
  }
}

const countWithin = (days: readonly (string | null)[], from: string, to: string): number =>
  days.filter((day) => day !== null && day >= from && day < to).length
