/** REST hooks: other services subscribe an address to an action, and end that again. Zapier does so. */
import { PageQuery } from '../../contract/common.ts'
import { HookAnswer, HookBody, HookPage } from '../../contract/management/hook.ts'
import { Refusal } from '../../errors.ts'
import { REST_HOOK_ID } from '../../plugins/catalog.ts'
import {
  createPluginConfig,
  deletePluginConfig,
  getPluginConfig,
  listPluginConfigs,
  type PluginConfig,
} from '../../plugins/plugin-config.ts'
import { HOOK_EVENT, hookSettings } from '../../plugins/rest-hook.ts'
import { findAction } from '../../targeting/action.ts'
import { answerJson, answerNothing } from '../answers/answers.ts'
import { answerPage } from '../answers/pages.ts'
import type { AppContext } from '../app-context.ts'
import { validatorOf } from '../bodies/shape.ts'
import { pathNames, projectRoute } from '../route.ts'
import { actorOf } from './plugins.ts'

export const HOOK_ROUTES = [
  projectRoute({
    method: 'GET',
    path: 'hooks/',
    scope: 'webhook:read',
    summary: 'List the subscriptions of other services to actions.',
    query: PageQuery,
    answers: { 200: HookPage },
    answer: (app, { request, project }) => {
      const hooks = listPluginConfigs(app.control, project.id).filter(isHook)
      return answerPage(request, app.publicUrl(), hooks, serializeHook)
    },
  }),
  projectRoute({
    method: 'POST',
    path: 'hooks/',
    scope: 'webhook:write',
    summary: 'Subscribe an address to an action: every event that matches is posted to it.',
    body: validatorOf(HookBody),
    answers: { 201: HookAnswer },
    answer: (app, { caller, project, body }) => {
      const { target, resource_id } = body
      const name = requireAction(app, project.id, resource_id)
      app.addresses.requirePublicUrl(target, 'target')
      const wanted = {
        plugin_id: REST_HOOK_ID,
        name: `Hook for the action ${name}`.slice(0, 400),
        config: { url: target, action: resource_id },
        seq: app.destinations.lastSeq(),
      }
      const actor = actorOf(app, caller, project)
      const hook = createPluginConfig(app.control, actor, wanted, app.now())
      return answerJson(serializeHook(hook), 201)
    },
  }),
  projectRoute({
    method: 'DELETE',
    path: 'hooks/:id/',
    scope: 'webhook:write',
    summary: 'End a subscription.',
    answers: { 204: null },
    answer: (app, { caller, project, params }) => {
      const hook = getPluginConfig(app.control, project.id, pathNames(params, 'id'))
      if (!isHook(hook)) throw new Refusal('not_found', 'Not found.')
      deletePluginConfig(app.control, actorOf(app, caller, project), hook, app.now())
      return answerNothing()
    },
  }),
] as const

const isHook = ({ plugin_id }: PluginConfig): boolean => plugin_id === REST_HOOK_ID

/** Returns the name of a project's action. Refuses missing and deleted ones. */
function requireAction(app: AppContext, project_id: number, id: number): string {
  const action = findAction(app.control, project_id, id)
  if (action !== null && !action.deleted) return action.name
  const detail = `There is no action with ID ${id}.`
  throw new Refusal('does_not_exist', detail, { attr: 'resource_id' })
}

function serializeHook(hook: PluginConfig): object {
  const { url, action } = hookSettings(hook)
  return {
    id: String(hook.id),
    created: hook.created_at,
    updated: hook.updated_at,
    event: HOOK_EVENT,
    target: url,
    resource_id: action,
    team: hook.project_id,
  }
}
