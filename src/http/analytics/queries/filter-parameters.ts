/** Property filters in query parameters, as JSON. */
import type { PropertyFilters } from '../../../contract/insights/parts.ts'
import { Refusal } from '../../../errors.ts'
import { propertyFiltersOf } from '../../../insights/legacy/legacy-filters.ts'
import { queryValue } from '../../answers/pages.ts'

/** Reads `properties`, in each form that legacy insights take; null when it is missing. Refuses anything else. */
export function readFilterParameters(request: Request): PropertyFilters | null {
  const text = queryValue(request, 'properties')
  if (text === null || text === '') return null
  try {
    return propertyFiltersOf(JSON.parse(text), 'properties')
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
  }
  const detail = 'Properties must be a JSON list of property filters.'
  throw new Refusal('invalid_input', detail, { attr: 'properties' })
}
