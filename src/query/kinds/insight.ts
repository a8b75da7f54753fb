/** Prepares, computes and exports insight queries: the insight's kind builds trees, which are compiled like any query. */
import type { InsightQueries } from '../../contract/insights/kinds.ts'
import { Refusal, refuseMember } from '../../errors.ts'
import type { CompiledQuery } from '../../hogql/compile.ts'
import { printHogQL } from '../../hogql/print-hogql/print-hogql.ts'
import type { Select } from '../../hogql/syntax/ast.ts'
import { integer } from '../../hogql/syntax/nodes.ts'
import { endsInSameStep } from '../../insights/dates/buckets.ts'
import {
  type InsightAnswer,
  type InsightContext,
  type InsightList,
  type InsightRows,
  projectDates,
} from '../../insights/insight.ts'
import { type InsightName, insightOf, listOfInsight, rangeOfInsight } from '../../insights/kinds.ts'
import type { SavedAction } from '../../insights/members/actions.ts'
import { tableOfInsight } from '../../insights/table.ts'
import { parseRows, writeArray } from '../../threads/sliced-json.ts'
import { compileTree } from '../compiling/compiler.ts'
import type { RowForm, WorkerQuery } from '../engine/protocol.ts'
import type { ComputedAnswer } from '../service/cache.ts'
import { cacheKey } from '../service/cache-key.ts'
import { workerQuery } from './hogql.ts'
import { namedDefinitions } from './named-definitions.ts'
import type { PreparedQuery, QueryContext, RunQuery } from './prepared-query.ts'
import { tableQuery } from './table-query.ts'

/** An insight query of any kind, after validation. */
export type InsightQueryNode = InsightQueries[InsightName]

/** Maximum length of a query as JSON; charts are far shorter, and longer expressions would take too long to compile. */
const LENGTH_MAX = 300_000

/** An action with a hash in place of its steps, which may be long. */
const fingerprintOf = ({ id, name, steps_json }: SavedAction) =>
  [id, name, String(Bun.hash(steps_json))] as const

const experimentOf = (id: number | null, { findExperiment }: QueryContext) =>
  id === null ? null : findExperiment?.(id)

/**
 * Prepares a query. Refuses (`invalid_input`) a query that is too long, and invalid dates. Other mistakes are refused
 * when the query is computed.
 */
export function prepareInsight(query: InsightQueryNode, context: QueryContext): PreparedQuery {
  const { project } = context
  const text = JSON.stringify(query)
  requireLength(query, text)
  const named = namedDefinitions(query)
  const dates = contextOf(context, context.now ?? new Date())
  const range = rangeOfInsight(query.kind, query, dates)
  return {
    project_id: project.id,
    caller: project.caller ?? '',
    cache_key: cacheKey(project, query.kind, [
      query,
      // The answer also depends on the saved definitions that the query names.
      named.has_test_accounts ? project.test_account_filters : null,
      named.has_actions ? (context.actions?.() ?? []).map(fingerprintOf) : null,
      'experiment_id' in query ? experimentOf(query.experiment_id, context) : null,
      named.has_path_cleaning ? project.path_cleaning_filters : null,
      ...(named.has_display_names ? [project.person_display_name_properties] : []),
      context.rows_max,
    ]),
    freshness: { ...range, isSameStep: (ends_at_ms) => endsInSameStep(range, ends_at_ms, dates) },
    labels: [query.kind],
    echo: { query },
    compute: (run, now) => compute(query, { context, run, now }),
    buildExport: (form, rows_max, now) => async (run) => {
      const options = { context, run, now }
      const list = await listOfInsight(query.kind, query)(contextOf(context, now), (tree) =>
        runInsightTree(tree, options),
      )
      if (list !== null) return listQuery(list, options, { form, rows_max })
      const table = await tableOfInsight(await wholeAnswer(query, options))
      const { id: project_id, timezone } = project
      return await tableQuery(table, { project_id, timezone, form, rows_max })
    },
  }
}

type InsightExportOptions = { readonly form: RowForm; readonly rows_max: number }

/** Builds the streamed query of a list; more than `rows_max` rows are refused, not cut off. */
async function listQuery(
  { tree, columns }: InsightList,
  { context, now }: InsightRun,
  { form, rows_max }: InsightExportOptions,
): Promise<WorkerQuery> {
  const compiled = await compileTree(tree, { ...context, rows_max }, now)
  return {
    ...workerQuery(compiled, context),
    rows_max,
    more_is_too_many: true,
    parts: { form, columns },
  }
}

/**
 * Computes the answer for a file: lists without a limit are computed again with the largest one. Refuses
 * (`query_too_large`) a list that would still be cut off, because a reader of the file could not see that.
 */
async function wholeAnswer(query: InsightQueryNode, options: InsightRun): Promise<InsightAnswer> {
  const answer = await answerOf(query, options)
  if (!isCut(query, answer)) return answer
  const { rows_max } = options.context
  const unlimited = Object.assign({}, query, { limit: rows_max })
  const whole = await answerOf(unlimited, options)
  if (!isCut(query, whole)) return whole
  const detail =
    'The answer has more rows than fit at once: name a limit, or columns that show no whole objects.'
  throw new Refusal('query_too_large', detail, { attr: 'query__limit' })
}

/** True when the answer is a page although the query has no limit, and there are more rows. */
function isCut(query: InsightQueryNode, { metadata = {} }: InsightAnswer): boolean {
  const has_limit = 'limit' in query && typeof query.limit === 'number'
  return !has_limit && metadata['hasMore'] === true && typeof metadata['limit'] === 'number'
}

/** Refuses long queries; an earlier answer in `response`, which some clients include, does not count. */
function requireLength(query: InsightQueryNode, text: string): void {
  if (text.length <= LENGTH_MAX) return
  if (JSON.stringify({ ...query, response: null }).length <= LENGTH_MAX) return
  throw refuseMember(`A query has at most ${LENGTH_MAX} characters.`, 'query')
}

type InsightRun = { readonly context: QueryContext; readonly run: RunQuery; readonly now: Date }

async function compute(query: InsightQueryNode, options: InsightRun): Promise<ComputedAnswer> {
  const { context, now } = options
  const started_ms = performance.now()
  const { results, hogql, metadata } = await answerOf(query, options)
  const duration_s = Math.round((performance.now() - started_ms) * 1000) / 1_000_000
  const head = {
    hogql,
    error: null,
    timings: [{ k: '.', t: duration_s }],
    modifiers: query.modifiers ?? {},
    timezone: context.project.timezone,
    ...metadata,
  }
  return {
    head: JSON.stringify(head),
    results: Array.isArray(results)
      ? Buffer.concat(await writeArray(results))
      : Buffer.from(JSON.stringify(results)),
    last_refresh_ms: now.getTime(),
    ends_at_ms: rangeOfInsight(query.kind, query, contextOf(context, now)).ends_at_ms,
  }
}

function answerOf(query: InsightQueryNode, options: InsightRun): Promise<InsightAnswer> {
  const answer = insightOf(query.kind, query)
  return answer(contextOf(options.context, options.now), (tree) => runInsightTree(tree, options))
}

/** Compiles and runs one tree of an insight. */
export async function runInsightTree(
  tree: Select,
  { context, run, now }: InsightRun,
): Promise<InsightRows> {
  const compiled = await compileTree(tree, context, now)
  const { rows_json, has_more } = await run(workerQuery(compiled, context))
  const rows = await parseRows<unknown[]>(rows_json)
  const { columns, types } = compiled
  return { columns, types, rows, has_more, hogql: printLimited(tree, compiled) }
}

/** Prints a tree. A tree without a LIMIT gets the LIMIT of its execution, so that the text returns as many rows. */
function printLimited(tree: Select, { hogql, limit }: CompiledQuery): string {
  if (limit === null || (tree.kind !== 'SelectQuery' && tree.kind !== 'SelectSetQuery')) {
    return hogql
  }
  return printHogQL({ ...tree, limit: integer(limit) })
}

/** Builds the insight's context. Definitions are read lazily: a cached answer needs none of them. */
export function contextOf(context: QueryContext, now: Date): InsightContext {
  const { project, rows_max } = context
  return {
    project_id: project.id,
    ...projectDates(project, now),
    test_account_filters: project.test_account_filters ?? [],
    path_cleaning_filters: project.path_cleaning_filters,
    person_display_name_properties: project.person_display_name_properties ?? null,
    rows_max,
    get property_types() {
      return context.property_types
    },
    actions: () => context.actions?.() ?? [],
    cohorts: () => context.cohorts?.() ?? [],
    findExperiment: (id) => context.findExperiment?.(id) ?? null,
  }
}
