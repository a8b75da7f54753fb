/** Ingestion warnings: what happened to a project's events without being refused (wire.md 1.12). */
import { IngestionWarningPage, IngestionWarningQuery } from '../../contract/ingestion-warning.ts'
import type { KeptWarning } from '../../ingest/reports.ts'
import { answerJson } from '../answers.ts'
import { momentIn } from '../moments.ts'
import { pageAddress, pageOf, queryValue } from '../pages.ts'
import { projectRoute } from '../route.ts'

const LIMIT_MAX = 1000

export const INGESTION_WARNING_ROUTES = [
  projectRoute({
    method: 'GET',
    path: 'ingestion_warnings/',
    scope: 'project:read',
    says: "List what went wrong with a project's events, newest first.",
    query: IngestionWarningQuery,
    answers: { 200: IngestionWarningPage },
    answer: (needs, { request, project }) => {
      const asked = pageOf(request)
      const page = { offset: asked.offset, limit: Math.min(asked.limit, LIMIT_MAX) }
      const { results, total } = needs.ingest.listWarnings({
        project_id: project.id,
        type: queryValue(request, 'type') || null,
        search: queryValue(request, 'search') || null,
        after: microsecondsIn(request, 'after'),
        before: microsecondsIn(request, 'before'),
        ...page,
      })
      const { offset, limit } = page
      const address = (at: number): string => pageAddress(request, needs.publicUrl(), { at, limit })
      return answerJson({
        count: total,
        next: offset + limit < total ? address(offset + limit) : null,
        previous: offset > 0 ? address(Math.max(0, offset - limit)) : null,
        results: results.map((warning) => warningOnWire(warning, project.id)),
      })
    },
  }),
]

function warningOnWire(warning: KeptWarning, project_id: number) {
  const { id, type, details, created_at } = warning
  const timestamp = new Date(created_at / 1000).toISOString()
  return { id, team_id: project_id, type, timestamp, details }
}

function microsecondsIn(request: Request, name: string): number | null {
  const moment = momentIn(queryValue(request, name) || null, name)
  return moment ? moment.getTime() * 1000 : null
}
