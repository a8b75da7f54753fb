/** Removes the data of deleted projects: rows, then files, and once more after the next start. */
import type { Capture } from '../ingest/threads/capture.ts'
import type { Log } from '../logs.ts'
import { deleteRemovedProject, listRemovedProjects } from '../projects/removals.ts'
import type { QueryService } from '../query/service/service.ts'
import type { SnapshotJob } from '../snapshots/job.ts'
import type { Control } from '../storage/control/control-db.ts'

type ProjectRemoval = {
  /** Removes the current data of a project. A failure is logged; the next start retries. */
  remove(project_id: number): void
  /**
   * Removes data that a stop left over, or that was on its way into the log during the deletion, and then dequeues the
   * project.
   */
  finish(): void
}

export type RemovalParts = {
  readonly control: Control
  readonly capture: Pick<Capture, 'forgetProject'>
  readonly snapshots: Pick<SnapshotJob, 'forgetProject'>
  readonly query_service: Pick<QueryService, 'dropProject'>
  readonly log: Log
}

/** Builds the removal from open parts. */
export function openRemoval({
  control,
  capture,
  snapshots,
  query_service,
  log,
}: RemovalParts): ProjectRemoval {
  const remove = async (project_id: number): Promise<boolean> => {
    try {
      query_service.dropProject(project_id)
      await capture.forgetProject(project_id)
      await snapshots.forgetProject(project_id)
      log.info({ project_id }, 'the data of a deleted project is removed')
      return true
    } catch (err) {
      log.error({ err, project_id }, 'the data of a deleted project could not be removed')
      return false
    }
  }
  const finish = async (): Promise<void> => {
    try {
      for (const project_id of listRemovedProjects(control.db)) {
        if (await remove(project_id)) deleteRemovedProject(control.db, project_id)
      }
    } catch (err) {
      log.error({ err }, 'deleted projects could not be forgotten')
    }
  }
  return {
    remove: (project_id) => void remove(project_id),
    finish: () => void finish(),
  }
}
