/** Removes the data of projects that are gone: rows first, then files, once more after the next start. */
import type { Capture } from '../ingest/threads/capture.ts'
import type { Log } from '../logs.ts'
import { deleteRemovedProject, listRemovedProjects } from '../projects/removals.ts'
import type { QueryService } from '../query/service/service.ts'
import type { SnapshotJob } from '../snapshots/job.ts'
import type { Control } from '../storage/control/control-db.ts'

export type ProjectRemoval = {
  /** Removes what there is of a project now; a failure is logged, and mended by the next start. */
  remove(project_id: number): void
  /**
   * Removes what a stop left over, or what was on its way into the log when the project was deleted; only then
   * is the project forgotten.
   */
  finish(): void
}

export type RemovalParts = {
  readonly control: Control
  readonly capture: Pick<Capture, 'forgetProject'>
  readonly snapshots: Pick<SnapshotJob, 'forgetProject'>
  readonly questions: Pick<QueryService, 'dropProject'>
  readonly log: Log
}

/** Opens nothing of its own. */
export function openRemoval({
  control,
  capture,
  snapshots,
  questions,
  log,
}: RemovalParts): ProjectRemoval {
  const remove = async (project_id: number): Promise<boolean> => {
    try {
      questions.dropProject(project_id)
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
