/** Whose question it is, and what is known about their data; every part is read when it is first looked at. */
import { listVariables } from '../../boards/variable.ts'
import type { Asker } from '../../projects/access.ts'
import type { Project } from '../../projects/project.ts'
import { hiddenTables, type Rights, requireRight, rightsAt } from '../../projects/rights.ts'
import type { Level } from '../../projects/tables.ts'
import { ASKING } from '../../projects/ways.ts'
import type { Asking } from '../../query/prepared.ts'
import { listActions } from '../../targeting/action.ts'
import { listNamedCohorts } from '../../targeting/named-cohorts.ts'
import { listNamedExperiments } from '../../targeting/named-experiments.ts'
import type { Needs } from '../needs.ts'
import { readResource } from './resources.ts'

/** Who asks, and how much they are in the project. */
export type Asks = { readonly asker: Asker; readonly project: Project; readonly level: Level }

/** The caller of a question, and what of the project is hidden from them. */
export function callerOf({ user_id }: Asker, rights: Rights) {
  const hidden_tables = hiddenTables(rights)
  return { caller: [user_id, ...hidden_tables].join(' '), hidden_tables }
}

/**
 * Whose question it is; what is known of the data is read when it is looked at, for a cached answer needs none of it.
 * Refuses callers who may not ask anything, wherever their question was saved.
 */
export function askingOf(needs: Needs, { asker, project, level }: Asks): Asking {
  const rights = rightsAt(needs.control, asker, { project, level })
  requireRight(rights, ASKING)
  return {
    project: { ...project, ...callerOf(asker, rights) },
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
    resources: (name) => readResource(needs.control, project.id, name),
  }
}
