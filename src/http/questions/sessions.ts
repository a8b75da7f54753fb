/** What is known of sessions: the properties they have, and the values of one (wire §4.10). */
import { pageOfItems } from '../../contract/common.ts'
import {
  LookedUpValues,
  LookedUpValuesQuery,
  SessionPropertiesQuery,
  SessionProperty,
} from '../../contract/elements.ts'
import { SESSION_PROPERTIES, sessionValuesTree } from '../../query/sessions.ts'
import { answerJson } from '../answers.ts'
import { answerPage, queryValue } from '../pages.ts'
import { projectRoute } from '../route.ts'
import { askTree } from './trees.ts'

export const SESSION_ROUTES = [
  projectRoute({
    method: 'GET',
    path: 'sessions/values/',
    scope: 'query:read',
    says: 'The twenty most frequent values of a session property in the last week.',
    query: LookedUpValuesQuery,
    answers: { 200: LookedUpValues },
    answer: async (needs, asked) => {
      const key = queryValue(asked.request, 'key') ?? ''
      if (!SESSION_PROPERTIES.has(key)) return answerJson([])
      const tree = sessionValuesTree(key, queryValue(asked.request, 'value') ?? '')
      const { rows } = await askTree(needs, asked, 'sessions/values', tree)
      return answerJson(rows.map(([name, count]) => ({ name, count: Number(count) })))
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'sessions/property_definitions/',
    scope: 'property_definition:read',
    says: 'The properties that every session has.',
    query: SessionPropertiesQuery,
    answers: { 200: pageOfItems(SessionProperty) },
    answer: (needs, { request }) => {
      const wanted = queryValue(request, 'search')?.trim().toLowerCase() ?? ''
      const found = [...SESSION_PROPERTIES].filter(([name]) => name.toLowerCase().includes(wanted))
      return answerPage(request, needs.publicUrl(), found, ([name, property_type]) => ({
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
