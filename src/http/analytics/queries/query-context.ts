/** The context of a query: its caller and facts about the project's data, each read on first use. */

import { findVariable } from '../../../dashboards/variable.ts'
import type { ResourceName } from '../../../hogql/tables/resources.ts'
import { memoizeValue } from '../../../memoize.ts'
import type { Caller } from '../../../projects/rights/access.ts'
import {
  hiddenTables,
  type Rights,
  requireRight,
  rightsAt,
} from '../../../projects/rights/rights.ts'
import { QUERY_READ } from '../../../projects/rights/ways.ts'
import type { Project } from '../../../projects/settings/project.ts'
import type { MemberLevel } from '../../../projects/tables.ts'
import type {
  PreparedQuery,
  QueriedProject,
  QueryContext,
} from '../../../query/kinds/prepared-query.ts'
import type { AnswerParts } from '../../../query/service/envelope.ts'
import type { RefreshMode } from '../../../query/service/refresh.ts'
import { listActions } from '../../../targeting/action.ts'
import { listNamedCohorts } from '../../../targeting/cohorts/named-cohorts.ts'
import { findExperimentById } from '../../../targeting/experiments/named-experiments.ts'
import type { AppContext } from '../../app-context.ts'
import type { ClientSocket } from '../../endpoint.ts'
import { withoutIdleTimeout } from '../../idle-timeout.ts'
import { readResource } from './resources.ts'

/** The caller and their level in the project. */
export type QueryCaller = {
  readonly caller: Caller
  readonly project: Project
  readonly level: MemberLevel
}

/** The caller as queries see it: user, and tables hidden from them. */
export function callerOf({ user_id }: Caller, rights: Rights) {
  const hidden_tables = hiddenTables(rights)
  return { caller: [user_id, ...hidden_tables].join(' '), hidden_tables }
}

/** The parts that the context of a query is built of. */
type ContextSources = Pick<AppContext, 'control' | 'definitions' | 'query_limits'>

/**
 * Builds the context in which a query of a project is prepared, by any route. Members are lazy, because a cached answer needs
 * none of them; a spread reads the getters among them.
 */
export function projectContext(app: ContextSources, project: QueriedProject): QueryContext {
  return {
    project,
    rows_max: app.query_limits.rows_max,
    get property_types() {
      return app.definitions.propertyTypes(project.id)
    },
    get group_types() {
      return app.definitions.groupTypes(project.id)
    },
    get clickhouse() {
      return app.definitions.clickhouseState?.(project.id) ?? null
    },
    // A statement may name a hundred of them: each list is read once.
    cohorts: memoizeValue(() => listNamedCohorts(app.control, project.id)),
    actions: memoizeValue(() => listActions(app.control, project.id)),
    findVariable: (id) => findVariable(app.control, project.id, id),
    findExperiment: (id) => findExperimentById(app.control, project.id, id),
  }
}

/**
 * Builds the context of a caller's own query. Refuses callers without the right to run queries, wherever the query was
 * saved.
 */
export function queryContext(
  app: AppContext,
  { caller, project, level }: QueryCaller,
): QueryContext {
  const rights = rightsAt(app.control, caller, { project, level })
  requireRight(rights, QUERY_READ)
  const resources = (name: ResourceName) => readResource(app.control, project.id, name, rights)
  const context = projectContext(app, { ...project, ...callerOf(caller, rights) })
  return Object.assign(context, { now: app.now(), resources })
}

/** The caller, the project and the request of a query. */
export type QueryCall = QueryCaller & { readonly request: Request; readonly socket: ClientSocket }

/**
 * Computes a query for a caller, and keeps the connection open meanwhile. Refuses `throttled` beyond the key's limits. The
 * client's disconnect cancels the query.
 */
export async function answerForCaller(
  app: AppContext,
  call: QueryCall,
  prepare: () => PreparedQuery,
  mode: RefreshMode = 'force_blocking',
): Promise<AnswerParts> {
  const leave = app.key_limits.enter(call.caller.id)
  try {
    const { signal } = call.request
    const prepared = prepare()
    return await withoutIdleTimeout(call, () =>
      app.query_service.answerInParts(prepared, { mode, client_query_id: null, signal }),
    )
  } finally {
    leave()
  }
}
