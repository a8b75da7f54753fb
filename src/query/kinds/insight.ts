/** Questions about behaviour: read by their kinds, asked through the one compiler, answered as JSON. Interface §4.3. */
import type { InsightQueries } from '../../contract/insights/kinds.ts'
import { Refusal } from '../../errors.ts'
import type { Select } from '../../hogql/ast.ts'
import type {
  AskedRows,
  InsightAnswer,
  InsightContext,
  InsightList,
} from '../../insights/insight.ts'
import { type InsightName, insightOf, listOfInsight, rangeOfInsight } from '../../insights/kinds.ts'
import { tableOfInsight } from '../../insights/table.ts'
import type { Computed } from '../cache.ts'
import { compileTree } from '../compiling/compiler.ts'
import type { RowForm, SentQuestion } from '../frames.ts'
import { cacheKey } from '../keys.ts'
import type { Ask, Asking, Prepared } from '../prepared.ts'
import { sentQuestion } from './hogql.ts'
import { tableQuestion } from './table-question.ts'

/** What was sent, of any kind. */
export type InsightQuestion = InsightQueries[InsightName]

/** No chart is as long; expressions of more would keep everybody else waiting while they are compiled. */
const LENGTH_MAX = 300_000

/**
 * Reads a question. Refuses (`invalid_input`) one that is too long, and dates that are none; the rest is refused when
 * it is computed.
 */
export function prepareInsight(question: InsightQuestion, asking: Asking): Prepared {
  const { project } = asking
  const text = JSON.stringify(question)
  requireLength(question, text)
  const range = rangeOfInsight(question.kind, question, contextOf(asking, asking.now ?? new Date()))
  return {
    project_id: project.id,
    caller: project.caller ?? '',
    cache_key: cacheKey(project, question.kind, [
      question,
      // What the question names, wherever in it, is part of what it asks.
      text.includes('"filterTestAccounts":true') ? project.test_account_filters : null,
      NAMES_ACTIONS.test(text) ? asking.actions : null,
      question.kind.startsWith('Experiment') ? asking.experiments : null,
      CLEANS_PATHS.test(text) ? project.path_cleaning_filters : null,
      asking.rows_max,
    ]),
    freshness: range,
    labels: [question.kind],
    said: { query: question },
    compute: (ask, now) => compute(question, { asking, ask, now }),
    sentInParts: (form, rows_max, now) => async (ask) => {
      const asked = { asking, ask, now }
      const list = await listOfInsight(question.kind, question)(contextOf(asking, now), (tree) =>
        askRows(tree, asked),
      )
      if (list !== null) return listQuestion(list, asked, { form, rows_max })
      const table = tableOfInsight(await wholeAnswer(question, asked))
      const { id: project_id, timezone } = project
      return tableQuestion(table, { project_id, timezone, form, rows_max })
    },
  }
}

type Parts = { readonly form: RowForm; readonly rows_max: number }

/** A list as the engine streams it: as many rows as files may have, and not one that is missing unsaid. */
async function listQuestion(
  { tree, columns }: InsightList,
  { asking, now }: Asked,
  { form, rows_max }: Parts,
): Promise<SentQuestion> {
  const compiled = await compileTree(tree, { ...asking, rows_max }, now)
  return {
    ...sentQuestion(compiled, asking),
    rows_max,
    more_is_too_many: true,
    parts: { form, columns },
  }
}

/**
 * What is written into a file: of lists all there is where nobody says how much. Refuses (`query_too_large`) a list that
 * would end too early, as whoever reads a file does not see that.
 */
async function wholeAnswer(question: InsightQuestion, asked: Asked): Promise<InsightAnswer> {
  const answer = await answerOf(question, asked)
  if (!isCut(question, answer)) return answer
  const { rows_max } = asked.asking
  const longer = Object.assign({}, question, { limit: rows_max })
  const whole = await answerOf(longer, asked)
  if (!isCut(question, whole)) return whole
  const detail =
    'The answer has more rows than fit at once: name a limit, or columns that show no whole objects.'
  throw new Refusal('query_too_large', detail, { attr: 'query__limit' })
}

/** Whether a page that nobody asked for was answered, and there is more. */
function isCut(question: InsightQuestion, { said = {} }: InsightAnswer): boolean {
  const is_asked_for = 'limit' in question && typeof question.limit === 'number'
  return !is_asked_for && said['hasMore'] === true && typeof said['limit'] === 'number'
}

/** An answer of before, which some clients send along, is no part of the question. */
function requireLength(question: InsightQuestion, text: string): void {
  if (text.length <= LENGTH_MAX) return
  if (JSON.stringify({ ...question, response: null }).length <= LENGTH_MAX) return
  throw new Refusal('invalid_input', `A question has at most ${LENGTH_MAX} characters.`, {
    attr: 'query',
  })
}

/** How questions name actions: as series, as goals, as entities, in HogQL. */
const NAMES_ACTIONS = /"ActionsNode"|"actionId"|"type":"actions"|matchesAction/i

/** How questions ask for paths as the project cleans them. */
const CLEANS_PATHS = /cleaned_path|path_?cleaning|pathReplacements/i

type Asked = { readonly asking: Asking; readonly ask: Ask; readonly now: Date }

async function compute(question: InsightQuestion, asked: Asked): Promise<Computed> {
  const { asking, now } = asked
  const started_ms = performance.now()
  const { results, hogql, said } = await answerOf(question, asked)
  const spent_s = Math.round((performance.now() - started_ms) * 1000) / 1_000_000
  const head = {
    hogql,
    error: null,
    timings: [{ k: '.', t: spent_s }],
    modifiers: question.modifiers ?? {},
    timezone: asking.project.timezone,
    ...said,
  }
  return {
    head: JSON.stringify(head),
    results: Buffer.from(JSON.stringify(results)),
    last_refresh_ms: now.getTime(),
  }
}

function answerOf(question: InsightQuestion, asked: Asked): Promise<InsightAnswer> {
  const answer = insightOf(question.kind, question)
  return answer(contextOf(asked.asking, asked.now), (tree) => askRows(tree, asked))
}

async function askRows(tree: Select, { asking, ask, now }: Asked): Promise<AskedRows> {
  const compiled = await compileTree(tree, asking, now)
  const { rows_json, has_more } = await ask(sentQuestion(compiled, asking))
  const rows: unknown[][] = JSON.parse(Buffer.from(rows_json).toString())
  const { columns, types, hogql } = compiled
  return { columns, types, rows, has_more, hogql }
}

/** What is known of the data is read when the kind looks at it: a cached answer needs none of it. */
function contextOf(asking: Asking, now: Date): InsightContext {
  const { project, rows_max } = asking
  return {
    project_id: project.id,
    timezone: project.timezone,
    week_start_day: project.week_start_day === 1 ? 1 : 0,
    now,
    test_account_filters: project.test_account_filters ?? [],
    path_cleaning_filters: project.path_cleaning_filters,
    rows_max,
    get property_types() {
      return asking.property_types
    },
    get actions() {
      return asking.actions ?? []
    },
    get cohorts() {
      return asking.cohorts ?? []
    },
    get experiments() {
      return asking.experiments ?? []
    },
  }
}
