/** Actions of a project: list, create, read, change. Deleting is a change. */
import type { Static } from 'elysia'
import { ActivityQuery, ItemActivityAnswer } from '../../contract/management/project.ts'
import {
  ActionAnswer,
  ActionChange,
  ActionCount,
  ActionPage,
  ActionsQuery,
  NewAction,
} from '../../contract/targeting/actions.ts'
import { Refusal } from '../../errors.ts'
import {
  type Action,
  type ActionChanges,
  createAction,
  getAction,
  listActionNames,
  type StoredActionStep,
  updateAction,
} from '../../targeting/action.ts'
import { runHogql } from '../analytics/run-tree.ts'
import { answerJson } from '../answers.ts'
import type { AppContext } from '../app-context.ts'
import { projectActivity } from '../management/activity.ts'
import { answerPage, queryValue } from '../pages.ts'
import { parseNumberId } from '../path-ids.ts'
import { projectRoute } from '../route.ts'
import { sentMembers } from '../sent-members.ts'
import { validatorOf } from '../shape.ts'
import { parseTimestamp } from '../timestamps.ts'
import { authorFinder, type FindAuthor } from './authors.ts'
import { editorOf } from './flags/feature-flags.ts'

const NEW_ACTION = validatorOf(NewAction)
const ACTION_CHANGE = validatorOf(ActionChange)

export const ACTION_ROUTES = [
  projectRoute({
    method: 'GET',
    path: 'actions/',
    scope: 'action:read',
    summary: "List the project's actions, newest first.",
    query: ActionsQuery,
    answers: { 200: ActionPage },
    answer: (app, { request, project }) => {
      const search_text = queryValue(request, 'search')?.toLowerCase() ?? ''
      const result = listActionNames(app.control, project.id).filter(({ name }) =>
        name.toLowerCase().includes(search_text),
      )
      const nameAuthor = authorFinder(app)
      return answerPage(request, app.publicUrl(), result, ({ id }) =>
        onWire(getAction(app.control, project.id, id), nameAuthor),
      )
    },
  }),
  projectRoute({
    method: 'POST',
    path: 'actions/',
    scope: 'action:write',
    summary: 'Make an action: events under one name, by steps of which any may match.',
    body: NEW_ACTION,
    answers: { 201: ActionAnswer },
    answer: (app, { body, project, caller }) => {
      const wanted = { ...readActionChanges(body), name: body.name }
      return answerAction(app, createAction(editorOf(app, project, caller), wanted, app.now()), 201)
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'actions/:id/',
    scope: 'action:read',
    summary: 'Read an action.',
    answers: { 200: ActionAnswer },
    answer: (app, { params, project }) =>
      answerAction(app, getAction(app.control, project.id, parseNumberId(params))),
  }),
  projectRoute({
    method: 'PATCH',
    path: 'actions/:id/',
    scope: 'action:write',
    summary: 'Change an action; deleting is a change of `deleted`.',
    body: ACTION_CHANGE,
    answers: { 200: ActionAnswer },
    answer: (app, { body, params, project, caller }) => {
      const before = getAction(app.control, project.id, parseNumberId(params))
      const editor = editorOf(app, project, caller)
      return answerAction(app, updateAction(editor, before, readActionChanges(body), app.now()))
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'actions/:id/count/',
    scope: 'action:read',
    summary: 'Count the events that are an action.',
    answers: { 200: ActionCount },
    answer: async (app, call) => {
      const { id, deleted } = getAction(app.control, call.project.id, parseNumberId(call.params))
      if (deleted) throw new Refusal('not_found', 'Not found.')
      const query = `select count() from events where matchesAction(${id})`
      const { rows } = await runHogql(app, call, query)
      return answerJson({ count: Number(rows[0]?.[0]) })
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'actions/:id/activity/',
    scope: 'activity_log:read',
    summary: 'List what happened to an action.',
    query: ActivityQuery,
    answers: { 200: ItemActivityAnswer },
    answer: (app, call) => {
      const { params, project } = call
      const item_id = String(getAction(app.control, project.id, parseNumberId(params)).id)
      return answerJson(projectActivity(app, call, { scope: 'Action', item_id }))
    },
  }),
] as const

function answerAction(app: AppContext, action: Action, status = 200): Response {
  return answerJson(onWire(action, authorFinder(app)), status)
}

function onWire(action: Action, nameAuthor: FindAuthor): object {
  const { project_id, ...stored } = action
  return {
    ...stored,
    team_id: project_id,
    created_by: nameAuthor(action.created_by),
    is_action: true,
    // Queries match events when they run: nothing is computed in advance.
    is_calculating: false,
    last_calculated_at: null,
    bytecode_error: null,
    creation_context: null,
  }
}

/** Reads the stored members from a body. */
function readActionChanges(body: Static<typeof ActionChange>): ActionChanges {
  const wanted = {
    name: body.name,
    description: body.description ?? undefined,
    tags: body.tags,
    steps: body.steps?.map(readStep),
    post_to_slack: body.post_to_slack,
    slack_message_format: body.slack_message_format ?? undefined,
    deleted: body.deleted,
    pinned_at: parseTimestamp(body.pinned_at, 'pinned_at'),
  }
  return sentMembers(wanted)
}

type ActionStepBody = NonNullable<Static<typeof ActionChange>['steps']>[number]

/** Forms send an empty text for a condition that is not set. */
function readStep(step: ActionStepBody): StoredActionStep {
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
