/** Makes the editor of a definition: the caller, their rights in the project, and the limits of stored things. */
import type { BoardEditor } from '../../dashboards/board-editor.ts'
import { narrowReaders } from '../../dashboards/readers.ts'
import type { Caller } from '../../projects/rights/access.ts'
import { rightsIn } from '../../projects/rights/rights.ts'
import type { Project } from '../../projects/settings/project.ts'
import type { TargetingEditor } from '../../targeting/shared/editor.ts'
import type { AppContext } from '../app-context.ts'

/** The editor of a change of insights and dashboards: the caller, their rights and the limits. */
export function boardEditor(app: AppContext, project: Project, caller: Caller): BoardEditor {
  return {
    control: app.control,
    project,
    user_id: caller.user_id,
    rights: rightsIn(app.control, caller, project),
    saved_max: app.saved_max,
    saved_bytes_max: app.saved_bytes_max,
  }
}

/** The editor of a change of flags, cohorts, experiments, surveys. Rights are read outside of the change's transaction. */
export function targetingEditor(
  app: AppContext,
  project: Project,
  caller: Caller,
): TargetingEditor {
  const editor = boardEditor(app, project, caller)
  return {
    ...editor,
    flags_max: app.flags_max,
    get definitions() {
      return app.flags.flagsOf(project.id).definitions
    },
    expectChange: () => app.flags.expectChange(),
    narrowReaders: (scope) => narrowReaders(editor, scope),
  }
}
