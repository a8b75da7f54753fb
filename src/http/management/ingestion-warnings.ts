/** Ingestion warnings: events of a project that were stored with changes or dropped, and why. */
import {
  IngestionWarningPage,
  IngestionWarningQuery,
} from '../../contract/management/ingestion-warning.ts'
import type { StoredWarning } from '../../ingest/notes/reports.ts'
import { answerJson } from '../answers/answers.ts'
import { neighbourPages, queryValue, readPage, readSearch } from '../answers/pages.ts'
import { parseTimestamp } from '../bodies/timestamps.ts'
import { projectRoute } from '../route.ts'

const LIMIT_MAX = 1000

export const INGESTION_WARNING_ROUTES = [
  projectRoute({
    method: 'GET',
    path: 'ingestion_warnings/',
    scope: 'project:read',
    summary: 'List the ingestion warnings of a project, newest first.',
    query: IngestionWarningQuery,
    answers: { 200: IngestionWarningPage },
    answer: (app, { request, project }) => {
      const page = readPage(request, { limit_max: LIMIT_MAX })
      const { results, total } = app.ingest.listWarnings({
        project_id: project.id,
        type: queryValue(request, 'type') || null,
        search: readSearch(request) || null,
        after: microsecondsIn(request, 'after'),
        before: microsecondsIn(request, 'before'),
        ...page,
      })
      const has_more = page.offset + page.limit < total
      return answerJson({
        count: total,
        ...neighbourPages(request, app.publicUrl(), { ...page, has_more }),
        results: results.map((warning) => warningOnWire(warning, project.id)),
      })
    },
  }),
]

function warningOnWire(warning: StoredWarning, project_id: number) {
  const { id, type, details, created_at } = warning
  const timestamp = new Date(created_at / 1000).toISOString()
  return { id, team_id: project_id, type, timestamp, details }
}

function microsecondsIn(request: Request, name: string): number | null {
  const moment = parseTimestamp(queryValue(request, name) || null, name)
  return moment ? moment.getTime() * 1000 : null
}
