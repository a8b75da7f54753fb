/** Sessions: their properties, and the values of one property. */

import {
  LookedUpValues,
  LookedUpValuesQuery,
  SessionPropertiesQuery,
  SessionProperty,
} from '../../../contract/analytics/elements.ts'
import { pageOfItems } from '../../../contract/common.ts'
import { SESSION_PROPERTIES, sessionValuesTree } from '../../../query/lists/sessions.ts'
import { answerJson } from '../../answers/answers.ts'
import { answerPage, queryValue, readSearch } from '../../answers/pages.ts'
import { projectRoute } from '../../route.ts'
import { runTree } from '../queries/run-tree.ts'

export const SESSION_ROUTES = [
  projectRoute({
    method: 'GET',
    path: 'sessions/values/',
    scope: 'query:read',
    summary: 'The twenty most frequent values of a session property in the last week.',
    query: LookedUpValuesQuery,
    answers: { 200: LookedUpValues },
    answer: async (app, call) => {
      const key = queryValue(call.request, 'key') ?? ''
      if (!SESSION_PROPERTIES.has(key)) return answerJson([])
      const tree = sessionValuesTree(key, queryValue(call.request, 'value') ?? '')
      const { rows } = await runTree(app, call, 'sessions/values', tree)
      return answerJson(rows.map(([name, count]) => ({ name, count: Number(count) })))
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'sessions/property_definitions/',
    scope: 'property_definition:read',
    summary: 'The properties that every session has.',
    query: SessionPropertiesQuery,
    answers: { 200: pageOfItems(SessionProperty) },
    answer: (app, { request }) => {
      const search_text = readSearch(request).trim().toLowerCase()
      const result = [...SESSION_PROPERTIES].filter(([name]) =>
        name.toLowerCase().includes(search_text),
      )
      return answerPage(request, app.publicUrl(), result, ([name, property_type]) => ({
        id: name,
        name,
        is_numerical: property_type === 'Numeric',
        property_type,
        tags: [],
        is_seen_on_filtered_events: null,
      }))
    },
  }),
] as const
