/** Logs of plugin configurations, a page at a time. */
import { Refusal } from '../../errors.ts'
import type { PluginConfig } from '../../plugins/plugin-config.ts'
import { LOG_TYPES, type LogType, listLogEntries } from '../../plugins/plugin-log.ts'
import { queryOf } from '../addresses.ts'
import { answerJson } from '../answers/answers.ts'
import { neighbourPages, readPage, requireSearch } from '../answers/pages.ts'
import type { AppContext } from '../app-context.ts'
import { readTimestamp } from '../bodies/timestamps.ts'

const LIMIT_MAX = 1000

/** Answers the requested page of a log. */
export function answerLog(app: AppContext, request: Request, { id }: PluginConfig): Response {
  const query = new URLSearchParams(queryOf(request.url))
  if (!/^\d{0,9}$/.test(query.get('limit') ?? '')) {
    const detail = 'Query param limit must be omitted or an integer!'
    throw new Refusal('invalid_input', detail, { attr: 'limit' })
  }
  const page = readPage(request, { limit_max: LIMIT_MAX })
  const { results, total } = listLogEntries(app.control, {
    plugin_config_id: id,
    after: momentIn(query, 'after'),
    before: momentIn(query, 'before'),
    search: requireSearch(query.get('search') ?? '') || null,
    types: query.getAll('type_filter').map(parseType),
    ...page,
  })
  const has_more = page.offset + page.limit < total
  const neighbours = neighbourPages(request, app.publicUrl(), { ...page, has_more })
  return answerJson({ count: total, ...neighbours, results })
}

function momentIn(query: URLSearchParams, name: string): Date | null {
  const text = query.get(name)
  if (text === null || text === '') return null
  const moment = readTimestamp(text)
  if (moment !== null) return moment
  throw new Refusal('invalid_date', 'Enter a valid ISO 8601 date-time.', { attr: name })
}

function parseType(text: string): LogType {
  const type = LOG_TYPES.find((stored) => stored === text.toUpperCase())
  if (type !== undefined) return type
  const detail = `${JSON.stringify(text.slice(0, 100))} is not a valid choice.`
  throw new Refusal('invalid_choice', detail, { attr: 'type_filter' })
}
