/**
 * Exports: a saved query whose answer is downloaded as a file. The answer is computed at each download and streamed, as
 * in POST query/ with `?format=csv`, by the rights of who downloads.
 */

import type { Static } from 'elysia'
import { ExportAnswer, ExportBody, ExportPage } from '../../../contract/analytics/exports.ts'
import { PageQuery } from '../../../contract/common.ts'
import { requirePresent } from '../../../dashboards/board-editor.ts'
import {
  createExport,
  getExport,
  listExports,
  type SavedExport,
} from '../../../dashboards/export.ts'
import { getInsight } from '../../../dashboards/insight.ts'
import { getNamed, Refusal, unknownId } from '../../../errors.ts'
import { legacyInsightQuery } from '../../../insights/legacy/legacy-insights.ts'
import type { Json } from '../../../projects/tables.ts'
import type { RowForm } from '../../../query/engine/protocol.ts'
import type { PreparedQuery } from '../../../query/kinds/prepared-query.ts'
import { answerJson } from '../../answers/answers.ts'
import { answerPage } from '../../answers/pages.ts'
import type { AppContext } from '../../app-context.ts'
import { validatorOf } from '../../bodies/shape.ts'
import { boardEditor } from '../../callers/editors.ts'
import { streamWithoutIdleTimeout, withoutIdleTimeout } from '../../idle-timeout.ts'
import { parseNumberId } from '../../path-ids.ts'
import { projectRoute } from '../../route.ts'
import { prepareSaved } from '../queries/query.ts'
import type { QueryCall } from '../queries/query-context.ts'
import { XLSX } from '../queries/query-formats.ts'
import {
  type DrawnInsight,
  drawDashboard,
  drawInsight,
  requireDrawnDashboard,
} from './export-pictures.ts'

/** EXPORT_FORMATS: the files that an export can be. A line adds one. */
const EXPORT_FORMATS = [
  { export_format: 'text/csv', form: 'csv', content_type: 'text/csv; charset=utf-8' },
  { export_format: XLSX, form: 'xlsx', content_type: XLSX },
  { export_format: 'image/png', form: 'png', content_type: 'image/png' },
] as const satisfies readonly ExportFileFormat[]

type ExportFileFormat = {
  readonly export_format: string
  /** The ending of its file name too. */
  readonly form: RowForm | 'png'
  readonly content_type: string
}

export const EXPORT_ROUTES = [
  projectRoute({
    method: 'GET',
    path: 'exports/',
    scope: 'export:read',
    summary: "List the project's 200 newest exports.",
    query: PageQuery,
    answers: { 200: ExportPage },
    answer: (app, { request, project }) => {
      const now = app.now()
      const present = listExports(app.control, project.id).filter(
        ({ expires_at }) => expires_at >= now,
      )
      return answerPage(request, app.publicUrl(), present, serializeExport)
    },
  }),
  projectRoute({
    method: 'POST',
    path: 'exports/',
    scope: 'export:write',
    summary:
      'Create an export of an insight, a query or a dashboard: its rows as CSV or a workbook, or a picture of it.',
    body: validatorOf(ExportBody),
    answers: { 201: ExportAnswer },
    answer: (app, call) => {
      const { body, project, caller } = call
      const wanted = readExport(body)
      requireExportable(app, call, wanted)
      const made = createExport(boardEditor(app, project, caller), wanted, app.now())
      return answerJson(serializeExport(made), 201)
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'exports/:id/',
    scope: 'export:read',
    summary: 'Read an export.',
    answers: { 200: ExportAnswer },
    answer: (app, { params, project }) =>
      answerJson(
        serializeExport(getExport(app.control, project.id, parseNumberId(params), app.now())),
      ),
  }),
  projectRoute({
    method: 'GET',
    path: 'exports/:id/content/',
    scope: 'export:read',
    summary: 'Download the answer of an export, computed now.',
    // A file, which is not JSON.
    answers: {},
    answer: async (app, call) => {
      const { params, project, caller, request } = call
      const stored = getExport(app.control, project.id, parseNumberId(params), app.now())
      const { form } = findFormat(stored.export_format)
      if (form === 'png') {
        const picture = await drawExport(app, call, stored)
        return new Response(Buffer.from(picture), { headers: headersOf(stored) })
      }
      const leave = app.key_limits.enter(caller.id)
      try {
        const prepared = prepareExport(app, call, stored)
        const { signal } = request
        // The stream keeps the key's slot until its end.
        const rows = await withoutIdleTimeout(call, () =>
          app.query_service.export(prepared, form, { signal, onEnd: leave }),
        )
        const body = streamWithoutIdleTimeout(call, rows)
        return new Response(body, { headers: headersOf(stored) })
      } catch (error) {
        leave()
        throw error
      }
    },
  }),
] as const

type WantedExport = Pick<
  SavedExport,
  'context' | 'dashboard_id' | 'export_format' | 'filename' | 'insight_id'
>

/** Reads the query or the picture that is to be exported. Refuses formats that are not in EXPORT_FORMATS. */
function readExport(body: Static<typeof ExportBody>): WantedExport {
  const { export_format, insight, dashboard, export_context } = body
  const { form } = findFormat(export_format)
  if (typeof dashboard === 'number' && form !== 'png') {
    const detail = 'A dashboard has no table: export its insights.'
    throw new Refusal('invalid_input', detail, { attr: 'dashboard' })
  }
  const { filename } = export_context ?? {}
  return {
    insight_id: insight ?? null,
    dashboard_id: dashboard ?? null,
    export_format,
    context: export_context ?? {},
    filename: `${(filename ?? 'export').replaceAll(/[^\w.-]+/g, '-').slice(0, 100)}.${form}`,
  }
}

function findFormat(name: string): ExportFileFormat {
  const format = EXPORT_FORMATS.find(({ export_format }) => export_format === name)
  if (format !== undefined) return format
  const names = EXPORT_FORMATS.map(({ export_format }) => export_format)
  const detail = `This server exports ${names.join(', ')}.`
  throw new Refusal('invalid_choice', detail, { attr: 'export_format' })
}

/** Refuses a query whose answer cannot be written in the format. */
function requireExportable(app: AppContext, call: QueryCall, wanted: WantedExport): void {
  if (findFormat(wanted.export_format).form !== 'png') {
    requireRows(prepareExport(app, call, wanted))
    return
  }
  app.pictures.requireChromium('export_format')
  if (wanted.dashboard_id !== null) findDashboard(app, call, wanted.dashboard_id)
  else prepareExport(app, call, wanted)
}

function drawExport(app: AppContext, call: QueryCall, stored: SavedExport): Promise<Uint8Array> {
  const { dashboard_id } = stored
  return dashboard_id === null
    ? drawInsight(app, call, findExported(app, call, stored))
    : drawDashboard(app, call, findDashboard(app, call, dashboard_id))
}

/** Returns the saved insight of an export, or its query under the name of its file. */
function findExported(
  app: AppContext,
  call: QueryCall,
  { insight_id, context, filename }: Pick<SavedExport, 'context' | 'filename' | 'insight_id'>,
): DrawnInsight {
  const { query, source } = Object(context) as { readonly query?: Json; readonly source?: Json }
  const asked = source ?? query ?? null
  if (asked !== null) {
    const name = filename.slice(0, filename.lastIndexOf('.'))
    return { name, description: '', query: asked, filters: {} }
  }
  if (insight_id === null) {
    const detail = 'Either an insight or a query in export_context is required.'
    throw new Refusal('required', detail, { attr: 'insight' })
  }
  const { name, description, query: saved, filters } = findInsight(app, call, insight_id)
  // A picture is drawn by the query; insights of old clients have filters alone.
  const drawn = saved ?? (legacyInsightQuery(Object(filters)) as Json)
  return { name, description, query: drawn, filters }
}

function prepareExport(
  app: AppContext,
  call: QueryCall,
  wanted: Pick<SavedExport, 'context' | 'filename' | 'insight_id'>,
): PreparedQuery {
  return prepareSaved(app, call, findExported(app, call, wanted).query)
}

function findDashboard(app: AppContext, call: QueryCall, id: number) {
  const get = () => requirePresent(requireDrawnDashboard(app, call, id))
  return getNamed(get, 'dashboard', unknownId(id))
}

function findInsight(app: AppContext, { project }: QueryCall, id: number) {
  const get = () => requirePresent(getInsight(app.control, project.id, id))
  return getNamed(get, 'insight', unknownId(id))
}

function requireRows({ buildExport }: PreparedQuery): void {
  if (buildExport !== null) return
  throw new Refusal('invalid_input', 'No table for this kind of query.', { attr: 'insight' })
}

function headersOf({ filename, export_format }: SavedExport): Readonly<Record<string, string>> {
  return {
    'Content-Type': findFormat(export_format).content_type,
    'Content-Disposition': `attachment; filename="${filename}"`,
    'X-Content-Type-Options': 'nosniff',
  }
}

function serializeExport(stored: SavedExport): object {
  const { id, insight_id, dashboard_id, export_format, context, filename, created_at, expires_at } =
    stored
  return {
    id,
    insight: insight_id,
    dashboard: dashboard_id,
    export_format,
    export_context: context,
    filename,
    has_content: true,
    exception: null,
    created_at,
    expires_after: expires_at,
  }
}
