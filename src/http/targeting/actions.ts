/** Actions under a project: listed, made, read, changed. Deleting is a change (wire §4.10). */
import type { Static } from 'elysia'
import {
  ActionAnswer,
  ActionChange,
  ActionPage,
  ActionsQuery,
  NewAction,
} from '../../contract/actions.ts'
import { ActivityQuery, ItemActivityAnswer } from '../../contract/project.ts'
import {
  type Action,
  type ActionStep,
  createAction,
  getAction,
  listWholeActions,
  updateAction,
  type WantedAction,
} from '../../targeting/action.ts'
import { answerJson } from '../answers.ts'
import { numberIn } from '../ids.ts'
import { projectActivity } from '../management/activity.ts'
import { momentIn } from '../moments.ts'
import type { Needs } from '../needs.ts'
import { answerPage, queryValue } from '../pages.ts'
import { projectRoute } from '../route.ts'
import { shapeOf } from '../shape.ts'
import { authorNamer, type NameAuthor } from './authors.ts'
import { editorOf } from './feature-flags.ts'

const NEW_ACTION = shapeOf(NewAction)
const ACTION_CHANGE = shapeOf(ActionChange)

export const ACTION_ROUTES = [
  projectRoute({
    method: 'GET',
    path: 'actions/',
    scope: 'action:read',
    says: "List the project's actions, newest first.",
    query: ActionsQuery,
    answers: { 200: ActionPage },
    answer: (needs, { request, project }) => {
      const wanted = queryValue(request, 'search')?.toLowerCase() ?? ''
      const found = listWholeActions(needs.control, project.id).filter(({ name }) =>
        name.toLowerCase().includes(wanted),
      )
      const nameAuthor = authorNamer(needs)
      return answerPage(request, needs.publicUrl(), found, (one) => onWire(one, nameAuthor))
    },
  }),
  projectRoute({
    method: 'POST',
    path: 'actions/',
    scope: 'action:write',
    says: 'Make an action: events under one name, by steps of which any may match.',
    body: NEW_ACTION,
    answers: { 201: ActionAnswer },
    answer: (needs, { body, project, asker }) => {
      const wanted = { ...wantedAction(body), name: body.name }
      return answerAction(
        needs,
        createAction(editorOf(needs, project, asker), wanted, needs.now()),
        201,
      )
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'actions/:id/',
    scope: 'action:read',
    says: 'Read an action.',
    answers: { 200: ActionAnswer },
    answer: (needs, { params, project }) =>
      answerAction(needs, getAction(needs.control, project.id, numberIn(params))),
  }),
  projectRoute({
    method: 'PATCH',
    path: 'actions/:id/',
    scope: 'action:write',
    says: 'Change an action; deleting is a change of `deleted`.',
    body: ACTION_CHANGE,
    answers: { 200: ActionAnswer },
    answer: (needs, { body, params, project, asker }) => {
      const before = getAction(needs.control, project.id, numberIn(params))
      const editor = editorOf(needs, project, asker)
      return answerAction(needs, updateAction(editor, before, wantedAction(body), needs.now()))
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'actions/:id/activity/',
    scope: 'activity_log:read',
    says: 'List what happened to an action.',
    query: ActivityQuery,
    answers: { 200: ItemActivityAnswer },
    answer: (needs, call) => {
      const { params, project } = call
      const item_id = String(getAction(needs.control, project.id, numberIn(params)).id)
      return answerJson(projectActivity(needs, call, { scope: 'Action', item_id }))
    },
  }),
] as const

function answerAction(needs: Needs, action: Action, status = 200): Response {
  return answerJson(onWire(action, authorNamer(needs)), status)
}

function onWire(action: Action, nameAuthor: NameAuthor): object {
  const { project_id, ...stored } = action
  return {
    ...stored,
    team_id: project_id,
    created_by: nameAuthor(action.created_by),
    is_action: true,
    // Questions match events when they are asked: there is nothing to be worked out before.
    is_calculating: false,
    last_calculated_at: null,
    bytecode_error: null,
    creation_context: null,
  }
}

/** Of a body what is stored. */
function wantedAction(body: Static<typeof ActionChange>): WantedAction {
  const wanted = {
    name: body.name,
    description: body.description ?? undefined,
    tags: body.tags,
    steps: body.steps?.map(wantedStep),
    post_to_slack: body.post_to_slack,
    slack_message_format: body.slack_message_format ?? undefined,
    deleted: body.deleted,
    pinned_at: momentIn(body.pinned_at, 'pinned_at'),
  }
  // What is undefined was not said.
  const said = Object.entries(wanted).filter(([, value]) => value !== undefined)
  return Object.fromEntries(said) as WantedAction
}

type SentStep = NonNullable<Static<typeof ActionChange>['steps']>[number]

/** An empty text asks nothing, as forms send it. */
function wantedStep(step: SentStep): ActionStep {
  return {
    event: step.event ?? null,
    properties: step.properties ?? [],
    selector: step.selector || null,
    tag_name: step.tag_name || null,
    text: step.text || null,
    text_matching: step.text_matching ?? null,
    href: step.href || null,
    href_matching: step.href_matching ?? null,
    url: step.url || null,
    url_matching: step.url_matching ?? null,
    name: step.name ?? null,
  }
}
