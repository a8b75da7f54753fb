/**
 * Insights that read a definition beside their query: a cohort, an action, an experiment, a variable, the project's filters. An edit of it changes the answers of
 * open links and alerts, which are computed in the name of others.
 */
import { and, eq, like, or, sql } from 'drizzle-orm'
import { narrowAlertsOf } from './alert.ts'
import { type BoardEditor, maySeeAll } from './board-editor.ts'
import { narrowLinksWith } from './sharing.ts'
import { insights } from './tables.ts'

/** The definitions that queries read, by what names them. */
const WORDS = {
  // Cohorts count actions, and actions have cohorts. So have filters of test accounts and exposures of experiments.
  Action: ['action', 'cohort', 'filtertestaccounts', 'experiment'],
  Cohort: ['action', 'cohort', 'filtertestaccounts', 'experiment'],
  Experiment: ['experiment'],
  /** Its filters of test accounts. */
  Project: ['filtertestaccounts', 'experiment'],
} as const

/** A kind of definition, or the id of a variable. */
type ReadDefinition = keyof typeof WORDS | { readonly variable_id: string }

/**
 * Narrows the open links and alerts with an insight that may read the definition, as an edit of the insight does. A
 * query names a definition by id or name, or names another definition that does. So every query with the word of such a
 * definition counts, and its links then show what the editor may see.
 */
export function narrowReaders(editor: BoardEditor, definition: ReadDefinition): void {
  if (maySeeAll(editor)) return
  const { control, project, user_id } = editor
  // Without regard to case. 32 MiB of queries, the most of a project, take a third of the time of `instr(lower(…))`: 35 ms.
  const names = wordsOf(definition).map((word) => like(insights.query, `%${word}%`))
  const { id } = insights
  const is_read = sql`${id} in (
    select insight_id from alerts where created_by != ${user_id}
    union select t.insight_id from dashboard_tiles t
      join shared_dashboards s on s.dashboard_id = t.dashboard_id and s.enabled
    where t.insight_id is not null and s.created_by != ${user_id})`
  const its = and(eq(insights.project_id, project.id), is_read, or(...names))
  const readers = control.select({ id }).from(insights).where(its).all()
  const ids = readers.map((reader) => reader.id)
  narrowLinksWith(editor, ids)
  narrowAlertsOf(editor, ids)
}

/** Words of which a query that reads the definition has one. */
function wordsOf(definition: ReadDefinition): readonly string[] {
  if (typeof definition === 'object') return [definition.variable_id.toLowerCase()]
  return WORDS[definition]
}
