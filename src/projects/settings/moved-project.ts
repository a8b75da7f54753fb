/** Projects that another server has now. */
import { sql } from 'drizzle-orm'
import type { ControlDB } from '../../storage/control/control-db.ts'

/** Lists the projects that another server has now. */
export function listMovedProjects(db: ControlDB): readonly number[] {
  const rows = db.all<{ project_id: number }>(sql`
select project_id from moved_projects
where left_at is not null and project_id not in (select id from projects)`)
  return rows.map(({ project_id }) => project_id)
}

/** Notes that a project has moved, and deletes it here; its senders are asked to send again from then on. */
export function leaveMoved(
  db: ControlDB,
  { project_id, to }: { readonly project_id: number; readonly to: string },
  now: Date,
): void {
  const now_us = now.getTime() * 1000
  db.transaction(
    (tx) => {
      tx.run(sql`
insert or replace into moved_projects (project_id, api_token, folder, started_at, left_at)
select id, api_token, ${to}, ${now_us}, ${now_us} from projects where id = ${project_id}`)
      tx.run(sql`delete from projects where id = ${project_id}`)
    },
    { behavior: 'immediate' },
  )
}
