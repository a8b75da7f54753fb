/**
 * Insights that read a definition beside their query: a cohort, an action, a variable. An edit of it changes the answers of
 * open links and alerts, which are computed in the name of others.
 */
import { and, eq, like, or, sql } from 'drizzle-orm'
import { narrowAlertsOf } from './alert.ts'
import { type BoardEditor, maySeeAll } from './board-editor.ts'
import { narrowLinksWith } from './sharing.ts'
import { insights } from './tables.ts'

/** The kinds of definitions that queries name, or the id of a variable. */
type ReadDefinition = 'Action' | 'Cohort' | { readonly variable_id: string }

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

/** Words of which a query that reads the definition has one. Actions have cohorts, and so have filters of test accounts. */
function wordsOf(definition: ReadDefinition): readonly string[] {
  if (typeof definition === 'object') return [definition.variable_id.toLowerCase()]
  return definition === 'Action' ? ['action'] : ['cohort', 'action', 'filtertestaccounts']
}
