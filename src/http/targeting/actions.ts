/** Actions of a project: list, create, read, change. Deleting is a change. */
import type { Static } from 'elysia'
import {
  ActionAnswer,
  ActionChange,
  ActionCount,
  ActionPage,
  ActionsQuery,
  NewAction,
} from '../../contract/targeting/actions.ts'
import { Refusal } from '../../errors.ts'
import { integer } from '../../hogql/syntax/nodes.ts'
import { select } from '../../hogql/template.ts'
import {
  type Action,
  type ActionChanges,
  createAction,
  getAction,
  listActionNames,
  listActions,
  updateAction,
} from '../../targeting/action.ts'
import type { StoredActionStep } from '../../targeting/tables.ts'
import { requireShownSteps } from '../analytics/queries/hidden-tables.ts'
import { runTree } from '../analytics/queries/run-tree.ts'
import { answerJson } from '../answers/answers.ts'
import type { AppContext } from '../app-context.ts'
import { clearableText, sentMembers } from '../bodies/sent-members.ts'
import { validatorOf } from '../bodies/shape.ts'
import { parseTimestamp } from '../bodies/timestamps.ts'
import { authorFinder } from '../callers/authors.ts'
import { targetingEditor } from '../callers/editors.ts'
import { parseNumberId } from '../path-ids.ts'
import { resource } from '../resource.ts'
import { projectRoute } from '../route.ts'

const NEW_ACTION = validatorOf(NewAction)
const ACTION_CHANGE = validatorOf(ActionChange)

const COUNT_ROUTE = projectRoute({
  method: 'GET',
  path: 'actions/:id/count/',
  scope: 'action:read',
  summary: 'Count the events that match an action.',
  answers: { 200: ActionCount },
  answer: async (app, call) => {
    const { id, deleted } = getAction(app.control, call.project.id, parseNumberId(call.params))
    if (deleted) throw new Refusal('not_found', 'Not found.')
    const tree = select`select count() from events where matchesAction(${integer(id)})`
    const actions = listActions(app.control, call.project.id)
    const { rows } = await runTree(app, call, 'ActionCount', tree, { actions: () => actions })
    return answerJson({ count: Number(rows[0]?.[0]) })
  },
})

export const ACTION_ROUTES = resource({
  path: 'actions/',
  resource: 'action',
  answer: ActionAnswer,
  find: (app, project, params) => getAction(app.control, project.id, parseNumberId(params)),
  serializer: actionSerializer,
  list: {
    summary: "List the project's actions, newest first.",
    query: ActionsQuery,
    answer: ActionPage,
    items: (app, { project }) => listActionNames(app.control, project.id),
    texts: ({ name }) => [name],
    open: (app, project, { id }) => getAction(app.control, project.id, id),
  },
  create: {
    summary: 'Create an action: a name for events that match any of its steps.',
    body: NEW_ACTION,
    run: async (app, call) => {
      const { body, project, caller } = call
      const wanted = { ...readActionChanges(body), name: body.name }
      await requireShownSteps(app, call, wanted.steps)
      return createAction(targetingEditor(app, project, caller), wanted, app.now())
    },
  },
  read: { summary: 'Read an action.' },
  change: {
    summary: 'Change an action; `deleted: true` deletes it.',
    body: ACTION_CHANGE,
    run: async (app, call, before) => {
      const { body, project, caller } = call
      const wanted = readActionChanges(body)
      if (!Bun.deepEquals(wanted.steps, before.steps)) {
        await requireShownSteps(app, call, wanted.steps)
      }
      // Others may have changed it meanwhile.
      const current = getAction(app.control, project.id, before.id)
      return updateAction(targetingEditor(app, project, caller), current, wanted, app.now())
    },
  },
  more: [COUNT_ROUTE],
  activity: { summary: 'List the activity log of an action.', scope: 'Action' },
})

function actionSerializer(app: AppContext): (action: Action) => object {
  const nameAuthor = authorFinder(app)
  return ({ project_id, ...action }) => ({
    ...action,
    team_id: project_id,
    created_by: nameAuthor(action.created_by),
    is_action: true,
    // Queries match events when they run: nothing is computed in advance.
    is_calculating: false,
    last_calculated_at: null,
    bytecode_error: null,
    creation_context: null,
  })
}

/** Reads the stored members from a body. */
function readActionChanges(body: Static<typeof ActionChange>): ActionChanges {
  const wanted = {
    name: body.name,
    description: clearableText(body.description),
    tags: body.tags,
    steps: body.steps?.map(readStep),
    post_to_slack: body.post_to_slack,
    slack_message_format: clearableText(body.slack_message_format),
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
