/** Whose question it is, and what is known about their data; every part is read when it is first looked at. */
import type { Project } from '../../projects/project.ts'
import type { Asking } from '../../query/prepared.ts'
import { listActions } from '../../targeting/action.ts'
import { listNamedCohorts } from '../../targeting/named-cohorts.ts'
import type { Needs } from '../needs.ts'
import { readResource } from './resources.ts'

/** A cached answer needs none of what is known of the data. */
export function askingOf(needs: Needs, project: Project): Asking {
  return {
    project,
    rows_max: needs.query_limits.rows_max,
    now: needs.now(),
    get property_types() {
      return needs.definitions.propertyTypes(project.id)
    },
    get property_columns() {
      return needs.definitions.propertyColumns(project.id)
    },
    get cohorts() {
      return listNamedCohorts(needs.control, project.id)
    },
    get actions() {
      return listActions(needs.control, project.id)
    },
    resources: (name) => readResource(needs.control, project.id, name),
  }
}
