/** Whose question it is, and what is known about their data; every part is read when it is first looked at. */
import { listVariables } from '../../boards/variable.ts'
import type { Asker } from '../../projects/access.ts'
import { hiddenResources } from '../../projects/access-controls.ts'
import type { Project } from '../../projects/project.ts'
import type { Level } from '../../projects/tables.ts'
import type { Asking } from '../../query/prepared.ts'
import { listActions } from '../../targeting/action.ts'
import { listNamedCohorts } from '../../targeting/named-cohorts.ts'
import { listNamedExperiments } from '../../targeting/named-experiments.ts'
import type { Needs } from '../needs.ts'
import { readResource, requireShown } from './resources.ts'

/** Who asks, and how much they are in the project. */
export type Asks = { readonly asker: Asker; readonly project: Project; readonly level: Level }

/** A cached answer needs none of what is known of the data. */
export function askingOf(needs: Needs, { asker, project, level }: Asks): Asking {
  const who = { user_id: asker.user_id, project_id: project.id, level }
  const hidden = hiddenResources(needs.control, who)
  return {
    project: { ...project, hidden },
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
    get variables() {
      return listVariables(needs.control, project.id)
    },
    get experiments() {
      return listNamedExperiments(needs.control, project.id)
    },
    resources: (name) => {
      requireShown(name, hidden)
      return readResource(needs.control, project.id, name)
    },
  }
}
