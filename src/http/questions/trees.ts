/** Questions that routes ask as trees, and their rows. */
import type { Select } from '../../hogql/ast.ts'
import type { Asker } from '../../projects/access.ts'
import type { Project } from '../../projects/project.ts'
import { rightsAt } from '../../projects/rights.ts'
import type { Level } from '../../projects/tables.ts'
import type { Asking } from '../../query/prepared.ts'
import { prepareTree } from '../../query/trees.ts'
import { listNamedCohorts } from '../../targeting/named-cohorts.ts'
import { IDLE_TIMEOUT_S, type Socket } from '../endpoint.ts'
import type { Needs } from '../needs.ts'
import { callerOf } from './asking.ts'

/** Who asks about whose data, and with which request. */
export type Asked = {
  readonly asker: Asker
  readonly project: Project
  readonly level: Level
  readonly request: Request
  readonly socket: Socket
}

export type Rows = {
  readonly rows: readonly (readonly unknown[])[]
  readonly has_more: boolean
}

/** What is known about the data of a project that a question is about, and what of it the caller may read. */
function askingAbout(needs: Needs, { asker, project, level }: Asked): Asking {
  const rights = rightsAt(needs.control, asker, { project, level })
  return {
    project: { ...project, ...callerOf(asker, rights) },
    property_types: needs.definitions.propertyTypes(project.id),
    property_columns: needs.definitions.propertyColumns(project.id),
    cohorts: listNamedCohorts(needs.control, project.id),
    rows_max: needs.query_limits.rows_max,
  }
}

/**
 * Asks a question written as a tree. It is computed anew, so that what was stored before is in it. Refuses what the
 * engine refuses, and `throttled` beyond what a key may ask. A caller who hangs up does not want the answer any more.
 */
export async function askTree(
  needs: Needs,
  asked: Asked,
  name: string,
  tree: Select,
): Promise<Rows> {
  const { asker, request, socket } = asked
  const leave = needs.key_limits.enter(asker.id)
  // A question may take longer than a silent connection is kept.
  socket?.timeout(request, 0)
  try {
    const body = await needs.questions.ask(prepareTree(name, tree, askingAbout(needs, asked)), {
      mode: 'force_blocking',
      client_query_id: null,
      signal: request.signal,
    })
    const { results, has_more }: { results: unknown[][]; has_more: boolean } = JSON.parse(
      new TextDecoder().decode(body),
    )
    return { rows: results, has_more }
  } finally {
    socket?.timeout(request, IDLE_TIMEOUT_S)
    leave()
  }
}
