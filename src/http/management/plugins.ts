/** Plugins: the available ones, their configuration for a project, and its logs. */
import { PageQuery } from '../../contract/common.ts'
import {
  LogPage,
  LogQuery,
  PluginConfigAnswer,
  PluginConfigBody,
  PluginConfigChange,
  PluginConfigPage,
  PluginPage,
} from '../../contract/management/plugin.ts'
import { Refusal } from '../../errors.ts'
import { findPlugin, PLUGINS, REST_HOOK_ID } from '../../plugins/catalog.ts'
import {
  changePluginConfig,
  createPluginConfig,
  deletePluginConfig,
  getPluginConfig,
  listPluginConfigs,
  type PluginConfig,
  type PluginConfigFields,
  serializeConfig,
} from '../../plugins/plugin-config.ts'
import type { Project } from '../../projects/settings/project.ts'
import { answerJson, answerNothing } from '../answers/answers.ts'
import { answerPage } from '../answers/pages.ts'
import type { AppContext } from '../app-context.ts'
import { validatorOf } from '../bodies/shape.ts'
import { organizationRoute, pathNames, projectRoute } from '../route.ts'
import { answerLog } from './plugin-logs.ts'

const ROOT = 'plugin_configs/'
const ONE = `${ROOT}:plugin_config_id/`

export const PLUGIN_ROUTES = [
  organizationRoute({
    method: 'GET',
    path: 'plugins/',
    scope: 'plugin:read',
    summary: 'List the plugins of this server.',
    query: PageQuery,
    answers: { 200: PluginPage },
    answer: (app, { request }) => answerPage(request, app.publicUrl(), PLUGINS),
  }),
  projectRoute({
    method: 'GET',
    path: ROOT,
    scope: 'plugin:read',
    summary: 'List the plugin configs of a project, in the order in which they run.',
    query: PageQuery,
    answers: { 200: PluginConfigPage },
    answer: (app, { request, project }) => {
      const all = listPluginConfigs(app.control, project.id)
      return answerPage(request, app.publicUrl(), all, configOnWire)
    },
  }),
  projectRoute({
    method: 'POST',
    path: ROOT,
    scope: 'plugin:write',
    summary: 'Enable a plugin for a project.',
    body: validatorOf(PluginConfigBody),
    answers: { 201: PluginConfigAnswer },
    answer: (app, { caller, project, body }) => {
      refuseHook(body.plugin)
      const wanted = {
        ...fieldsOf(body),
        plugin_id: body.plugin,
        seq: app.destinations.lastSeq(),
      }
      const actor = actorOf(app, caller, project)
      const config = createPluginConfig(app.control, actor, wanted, app.now())
      return answerJson(configOnWire(config), 201)
    },
  }),
  projectRoute({
    method: 'GET',
    path: ONE,
    scope: 'plugin:read',
    summary: 'Read a plugin config.',
    answers: { 200: PluginConfigAnswer },
    answer: (app, { project, params }) => {
      const id = pathNames(params, 'plugin_config_id')
      return answerJson(configOnWire(getPluginConfig(app.control, project.id, id)))
    },
  }),
  projectRoute({
    method: 'PATCH',
    path: ONE,
    scope: 'plugin:write',
    summary:
      'Change a plugin config; secrets sent back masked are kept, but never for another server.',
    body: validatorOf(PluginConfigChange),
    answers: { 200: PluginConfigAnswer },
    answer: (app, { caller, project, params, body }) => {
      const id = pathNames(params, 'plugin_config_id')
      const config = getPluginConfig(app.control, project.id, id)
      if (body.config !== undefined) refuseHook(config.plugin_id)
      const actor = actorOf(app, caller, project)
      const seq = app.destinations.lastSeq()
      const requested = { fields: fieldsOf(body), seq, now: app.now() }
      return answerJson(configOnWire(changePluginConfig(app.control, actor, config, requested)))
    },
  }),
  projectRoute({
    method: 'DELETE',
    path: ONE,
    scope: 'plugin:write',
    summary: 'Remove a plugin from a project, with its log.',
    answers: { 204: null },
    answer: (app, { caller, project, params }) => {
      const id = pathNames(params, 'plugin_config_id')
      const config = getPluginConfig(app.control, project.id, id)
      deletePluginConfig(app.control, actorOf(app, caller, project), config, app.now())
      return answerNothing()
    },
  }),
  projectRoute({
    method: 'GET',
    path: `${ONE}logs/`,
    scope: 'plugin:read',
    summary: 'Read the log of a plugin config, newest first.',
    query: LogQuery,
    answers: { 200: LogPage },
    answer: (app, { request, project, params }) => {
      const id = pathNames(params, 'plugin_config_id')
      return answerLog(app, request, getPluginConfig(app.control, project.id, id))
    },
  }),
] as const

/** Refuses to set a hook's address here: it gets persons, which takes a right that these routes do not ask for. */
function refuseHook(plugin_id: number): void {
  if (plugin_id !== REST_HOOK_ID) return
  const detail = 'REST hooks are made and ended at hooks/.'
  throw new Refusal('invalid_input', detail, { attr: 'plugin' })
}

/** Returns who changes the plugins of a project, with the check of addresses. */
export function actorOf(
  app: AppContext,
  { user_id }: { readonly user_id: number },
  project: Project,
) {
  return { user_id, project, addresses: app.addresses }
}

function fieldsOf(body: {
  readonly name?: string | null
  readonly enabled?: boolean
  readonly order?: number
  readonly config?: object
}): PluginConfigFields {
  const { name, enabled, order, config } = body
  return {
    ...(name === undefined || name === null ? {} : { name }),
    ...(enabled === undefined ? {} : { enabled }),
    ...(order === undefined ? {} : { position: order }),
    // The schema validated it, so it is JSON as parsed.
    ...(config === undefined
      ? {}
      : { config: config as NonNullable<PluginConfigFields['config']> }),
  }
}

function configOnWire(config: PluginConfig): object {
  const { id, plugin_id, project_id, name, enabled, position, created_at, updated_at } = config
  return {
    id,
    plugin: plugin_id,
    plugin_info: findPlugin(plugin_id),
    name,
    enabled,
    order: position,
    config: serializeConfig(config),
    team_id: project_id,
    created_at,
    updated_at,
  }
}
