/** Reads and writes the folder's side of claims in ClickHouse: its name, its projects and the names of its log. */
import type { Database } from 'bun:sqlite'
import { join } from 'node:path'
import { listRemovedProjects } from '../projects/removals.ts'
import {
  findGiver,
  forgetGiver,
  getHome,
  nextProjectId,
  storeClaimedIds,
  storeClaimedLog,
  storeHomeNumber,
} from '../projects/settings/home.ts'
import { listProjectIds } from '../projects/settings/project.ts'
import { ProjectClaims } from '../shipping/claims.ts'
import type { ClickHouseNodes } from '../storage/clickhouse/clickhouse-nodes.ts'
import type { ControlDB } from '../storage/control/control-db.ts'
import { listLogIds } from '../storage/log/shipments.ts'
import { openReader } from '../storage/sqlite/sqlite.ts'

/** Opens the claims of a folder. events.db must exist. */
export function openClaims(
  data_dir: string,
  nodes: ClickHouseNodes,
  control: ControlDB,
): ProjectClaims {
  const path = join(data_dir, 'events.db')
  return new ProjectClaims(nodes, {
    getHome: () => getHome(control),
    listLogIds: () => {
      using events = openReader(path)
      return listLogIds(events)
    },
    listProjects: () => {
      const removed = listRemovedProjects(control)
      if (removed.length === 0) return listProjectIds(control)
      using events = openReader(path)
      return [...listProjectIds(control), ...removed.filter((id) => hasRows(events, id))]
    },
    nextProjectId: () => nextProjectId(control),
    findGiver: (project_id) => findGiver(control, project_id),
    forgetGiver: (project_id) => forgetGiver(control, project_id),
    storeClaimedLog: (log_id) => storeClaimedLog(control, log_id),
    storeHomeNumber: (number) => storeHomeNumber(control, number),
    storeClaimedIds: (from, to) => storeClaimedIds(control, from, to),
  })
}

/** Whether something of a deleted project could still be sent. */
function hasRows(events: Database, project_id: number): boolean {
  return ['events', 'persons'].some(
    (table) =>
      events.query(`select 1 from ${table} where project_id = ? limit 1`).get(project_id) !== null,
  )
}
