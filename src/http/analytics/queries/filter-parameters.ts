/** Property filters in query parameters, as JSON. */
import { Refusal } from '../../../errors.ts'
import { queryValue } from '../../answers/pages.ts'

/** Reads `properties`, a list or a group of filters; null when it is missing. Refuses anything else. */
export function readFilterParameters(request: Request): object | null {
  const text = queryValue(request, 'properties')
  if (text === null || text === '') return null
  try {
    const filters: unknown = JSON.parse(text)
    if (typeof filters === 'object') return filters
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
  }
  const detail = 'Properties must be a JSON list of property filters.'
  throw new Refusal('invalid_input', detail, { attr: 'properties' })
}
