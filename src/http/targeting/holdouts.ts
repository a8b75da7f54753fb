/** Holdouts of experiments under a project; the flags of their experiments change with them (wire §4.10). */
import { PageQuery } from '../../contract/common.ts'
import {
  HoldoutAnswer,
  HoldoutChange,
  HoldoutPage,
  NewHoldout,
} from '../../contract/experiments.ts'
import type { Editor } from '../../targeting/editor.ts'
import { setHoldout } from '../../targeting/experiment-flag.ts'
import { getFlag } from '../../targeting/flag.ts'
import {
  createHoldout,
  getHoldout,
  type Holdout,
  listHeldFlags,
  listHoldouts,
  removeHoldout,
  updateHoldout,
} from '../../targeting/holdout.ts'
import { answerJson } from '../answers.ts'
import { numberIn } from '../ids.ts'
import { answerPage } from '../pages.ts'
import { projectRoute } from '../route.ts'
import { shapeOf } from '../shape.ts'
import { authorNamer, type NameAuthor } from './authors.ts'
import { editorOf } from './feature-flags.ts'

const NEW_HOLDOUT = shapeOf(NewHoldout)
const HOLDOUT_CHANGE = shapeOf(HoldoutChange)

export const HOLDOUT_ROUTES = [
  projectRoute({
    method: 'GET',
    path: 'experiment_holdouts/',
    scope: 'experiment:read',
    says: "List the project's holdouts, newest first.",
    query: PageQuery,
    answers: { 200: HoldoutPage },
    answer: (needs, { request, project }) => {
      const nameAuthor = authorNamer(needs)
      const found = listHoldouts(needs.control, project.id)
      return answerPage(request, needs.publicUrl(), found, (one) => onWire(one, nameAuthor))
    },
  }),
  projectRoute({
    method: 'POST',
    path: 'experiment_holdouts/',
    scope: 'experiment:write',
    says: 'Make a holdout.',
    answers: { 201: HoldoutAnswer },
    body: NEW_HOLDOUT,
    answer: (needs, { body, project, asker }) => {
      const holdout = createHoldout(editorOf(needs, project, asker), body, needs.now())
      return answerJson(onWire(holdout, authorNamer(needs)), 201)
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'experiment_holdouts/:id/',
    scope: 'experiment:read',
    says: 'Read a holdout.',
    answers: { 200: HoldoutAnswer },
    answer: (needs, { params, project }) => {
      const holdout = getHoldout(needs.control, project.id, numberIn(params))
      return answerJson(onWire(holdout, authorNamer(needs)))
    },
  }),
  projectRoute({
    method: 'PATCH',
    path: 'experiment_holdouts/:id/',
    scope: 'experiment:write',
    says: 'Change a holdout, and the flags of its experiments with it.',
    answers: { 200: HoldoutAnswer },
    body: HOLDOUT_CHANGE,
    answer: (needs, { body, params, project, asker }) => {
      const before = getHoldout(needs.control, project.id, numberIn(params))
      const editor = editorOf(needs, project, asker)
      const now = needs.now()
      const holdout = needs.control.transaction(() => {
        const changed = updateHoldout(editor, before, body, now)
        tellFlags(editor, listHeldFlags(needs.control, before.id), changed.id, now)
        return changed
      })
      return answerJson(onWire(holdout, authorNamer(needs)))
    },
  }),
  projectRoute({
    method: 'DELETE',
    path: 'experiment_holdouts/:id/',
    scope: 'experiment:write',
    says: 'Remove a holdout; its experiments go on without one.',
    answers: { 204: null },
    answer: (needs, { params, project, asker }) => {
      const holdout = getHoldout(needs.control, project.id, numberIn(params))
      const editor = editorOf(needs, project, asker)
      const now = needs.now()
      needs.control.transaction(() => {
        const flag_ids = listHeldFlags(needs.control, holdout.id)
        removeHoldout(editor, holdout, now)
        tellFlags(editor, flag_ids, null, now)
      })
      return new Response(null, { status: 204 })
    },
  }),
] as const

function tellFlags(
  editor: Editor,
  flag_ids: readonly number[],
  holdout_id: number | null,
  now: Date,
): void {
  for (const id of flag_ids) {
    setHoldout(editor, getFlag(editor.control, editor.project.id, id), holdout_id, now)
  }
}

function onWire(holdout: Holdout, nameAuthor: NameAuthor): object {
  const { project_id: _project, ...stored } = holdout
  return { ...stored, created_by: nameAuthor(holdout.created_by) }
}
