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
  listHeldFlags,
  listHoldoutIds,
  removeHoldout,
  updateHoldout,
} from '../../../targeting/experiments/holdout.ts'
import { getFlag } from '../../../targeting/flags/flag.ts'
import type { TargetingEditor } from '../../../targeting/shared/editor.ts'
import { answerJson } from '../../answers.ts'
import { answerPage } from '../../pages.ts'
import { parseNumberId } from '../../path-ids.ts'
import { projectRoute } from '../../route.ts'
import { validatorOf } from '../../shape.ts'
import { authorFinder, type FindAuthor } from '../authors.ts'
import { editorOf } from '../flags/feature-flags.ts'

const NEW_HOLDOUT = validatorOf(NewHoldout)
const HOLDOUT_CHANGE = validatorOf(HoldoutChange)

export const HOLDOUT_ROUTES = [
  projectRoute({
    method: 'GET',
    path: 'experiment_holdouts/',
    scope: 'experiment:read',
    summary: "List the project's holdouts, newest first.",
    query: PageQuery,
    answers: { 200: HoldoutPage },
    answer: (app, { request, project }) => {
      const nameAuthor = authorFinder(app)
      const ids = listHoldoutIds(app.control, project.id)
      return answerPage(request, app.publicUrl(), ids, (id) =>
        onWire(getHoldout(app.control, project.id, id), nameAuthor),
      )
    },
  }),
  projectRoute({
    method: 'POST',
    path: 'experiment_holdouts/',
    scope: 'experiment:write',
    summary: 'Make a holdout.',
    answers: { 201: HoldoutAnswer },
    body: NEW_HOLDOUT,
    answer: (app, { body, project, caller }) => {
      const holdout = createHoldout(editorOf(app, project, caller), body, app.now())
      return answerJson(onWire(holdout, authorFinder(app)), 201)
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'experiment_holdouts/:id/',
    scope: 'experiment:read',
    summary: 'Read a holdout.',
    answers: { 200: HoldoutAnswer },
    answer: (app, { params, project }) => {
      const holdout = getHoldout(app.control, project.id, parseNumberId(params))
      return answerJson(onWire(holdout, authorFinder(app)))
    },
  }),
  projectRoute({
    method: 'PATCH',
    path: 'experiment_holdouts/:id/',
    scope: 'experiment:write',
    summary: 'Change a holdout, and the flags of its experiments with it.',
    answers: { 200: HoldoutAnswer },
    body: HOLDOUT_CHANGE,
    answer: (app, { body, params, project, caller }) => {
      const before = getHoldout(app.control, project.id, parseNumberId(params))
      const editor = editorOf(app, project, caller)
      const now = app.now()
      const holdout = app.control.transaction(() => {
        const changed = updateHoldout(editor, before, body, now)
        updateFlags(editor, listHeldFlags(app.control, before.id), changed.id, now)
        return changed
      })
      return answerJson(onWire(holdout, authorFinder(app)))
    },
  }),
  projectRoute({
    method: 'DELETE',
    path: 'experiment_holdouts/:id/',
    scope: 'experiment:write',
    summary: 'Remove a holdout; its experiments go on without one.',
    answers: { 204: null },
    answer: (app, { params, project, caller }) => {
      const holdout = getHoldout(app.control, project.id, parseNumberId(params))
      const editor = editorOf(app, project, caller)
      const now = app.now()
      app.control.transaction(() => {
        const flag_ids = listHeldFlags(app.control, holdout.id)
        removeHoldout(editor, holdout, now)
        updateFlags(editor, flag_ids, null, now)
      })
      return new Response(null, { status: 204 })
    },
  }),
] as const

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

function onWire(holdout: ExperimentHoldout, nameAuthor: FindAuthor): object {
  const { project_id: _project, ...stored } = holdout
  return { ...stored, created_by: nameAuthor(holdout.created_by) }
}
