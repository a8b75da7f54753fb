/** Experiment holdouts of a project; the flags of their experiments change with them. */
import { PageQuery } from '../../../contract/common.ts'
import {
  HoldoutAnswer,
  HoldoutChange,
  HoldoutPage,
  NewHoldout,
} from '../../../contract/targeting/experiments.ts'
import { setHoldout } from '../../../targeting/experiments/experiment-flag.ts'
import {
  createHoldout,
  type ExperimentHoldout,
  getHoldout,
  listFlagsWithHoldout,
  listHoldoutIds,
  removeHoldout,
  updateHoldout,
} from '../../../targeting/experiments/holdout.ts'
import { getFlag } from '../../../targeting/flags/flag.ts'
import type { TargetingEditor } from '../../../targeting/shared/editor.ts'
import type { AppContext } from '../../app-context.ts'
import { validatorOf } from '../../bodies/shape.ts'
import { authorFinder } from '../../callers/authors.ts'
import { targetingEditor } from '../../callers/editors.ts'
import { parseNumberId } from '../../path-ids.ts'
import { resource } from '../../resource.ts'

const NEW_HOLDOUT = validatorOf(NewHoldout)
const HOLDOUT_CHANGE = validatorOf(HoldoutChange)

export const HOLDOUT_ROUTES = resource({
  path: 'experiment_holdouts/',
  resource: 'experiment',
  answer: HoldoutAnswer,
  find: (app, project, params) => getHoldout(app.control, project.id, parseNumberId(params)),
  serializer: holdoutSerializer,
  list: {
    summary: "List the project's holdouts, newest first.",
    query: PageQuery,
    answer: HoldoutPage,
    items: (app, { project }) => listHoldoutIds(app.control, project.id),
    open: (app, project, id) => getHoldout(app.control, project.id, id),
  },
  create: {
    summary: 'Make a holdout.',
    body: NEW_HOLDOUT,
    run: (app, { body, project, caller }) =>
      createHoldout(targetingEditor(app, project, caller), body, app.now()),
  },
  read: { summary: 'Read a holdout.' },
  change: {
    summary: 'Change a holdout, and the flags of its experiments with it.',
    body: HOLDOUT_CHANGE,
    run: (app, { body, project, caller }, before) => {
      const editor = targetingEditor(app, project, caller)
      const now = app.now()
      return app.control.transaction(() => {
        const changed = updateHoldout(editor, before, body, now)
        updateFlags(editor, listFlagsWithHoldout(app.control, before.id), changed.id, now)
        return changed
      })
    },
  },
  remove: {
    summary: 'Delete a holdout; its experiments go on without it.',
    run: (app, { project, caller }, holdout) => {
      const editor = targetingEditor(app, project, caller)
      const now = app.now()
      app.control.transaction(() => {
        const flag_ids = listFlagsWithHoldout(app.control, holdout.id)
        removeHoldout(editor, holdout, now)
        updateFlags(editor, flag_ids, null, now)
      })
    },
  },
})

function updateFlags(
  editor: TargetingEditor,
  flag_ids: readonly number[],
  holdout_id: number | null,
  now: Date,
): void {
  for (const id of flag_ids) {
    setHoldout(editor, getFlag(editor.control, editor.project.id, id), holdout_id, now)
  }
}

function holdoutSerializer(app: AppContext): (holdout: ExperimentHoldout) => object {
  const nameAuthor = authorFinder(app)
  return ({ project_id: _project, ...holdout }) => ({
    ...holdout,
    created_by: nameAuthor(holdout.created_by),
  })
}
