/** Serializes persons for the API. */

import { NAME_PROPERTIES } from '../../insights/actors/actor-columns.ts'
import type { Project } from '../../projects/settings/project.ts'
import type { ListedPerson } from '../../targeting/shared/person-reads.ts'
import { US_PER_MS } from '../../time.ts'
import { formatUuid } from '../../uuid.ts'
import type { AppContext } from '../app-context.ts'

/** Serializes a person of a project with its first distinct ids: `person_distinct_ids` of HogQL has all of them. */
export function serializePerson(app: AppContext, project: Project, person: ListedPerson): object {
  const distinct_ids = app.persons.listDistinctIds(project.id, person.id)
  const uuid = formatUuid(person.id)
  return {
    type: 'person',
    id: uuid,
    uuid,
    name: nameOf(project, person, distinct_ids) ?? uuid,
    distinct_ids,
    properties: person.properties,
    created_at: new Date(person.created_at / US_PER_MS),
    is_identified: person.is_identified,
    matched_recordings: [],
    value_at_data_point: null,
  }
}

/** Returns a person's display name. */
export function nameOfPerson(app: AppContext, project: Project, person: ListedPerson): string {
  const distinct_ids = app.persons.listDistinctIds(project.id, person.id)
  return nameOf(project, person, distinct_ids) ?? formatUuid(person.id)
}

/** A distinct id serves as name unless a browser generated it. */
function nameOf(
  project: Project,
  { properties }: ListedPerson,
  distinct_ids: readonly string[],
): string | null {
  for (const name of project.person_display_name_properties ?? NAME_PROPERTIES) {
    const value = Object.hasOwn(properties, name) ? properties[name] : null
    if ((typeof value === 'string' && value !== '') || typeof value === 'number') {
      return String(value)
    }
  }
  return distinct_ids.find((id) => !/^[0-9a-f-]{32,}$/i.test(id)) ?? distinct_ids[0] ?? null
}
