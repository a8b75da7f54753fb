/** Plugins: what there is, how it works for a project, and its logs. Interface §4.2. */
import { PageQuery } from '../../contract/common.ts'
import {
  LogPage,
  LogQuery,
  PluginConfigAnswer,
  PluginConfigBody,
  PluginConfigChange,
  PluginConfigPage,
  PluginPage,
} from '../../contract/plugin.ts'
import { findPlugin, PLUGINS } from '../../plugins/catalog.ts'
import {
  changePluginConfig,
  createPluginConfig,
  deletePluginConfig,
  getPluginConfig,
  listPluginConfigs,
  type PluginConfig,
  type PluginConfigFields,
  shownConfig,
} from '../../plugins/plugin-config.ts'
import type { Project } from '../../projects/project.ts'
import { answerJson, answerNothing } from '../answers.ts'
import type { Needs } from '../needs.ts'
import { answerPage } from '../pages.ts'
import { namedIn, organizationRoute, projectRoute } from '../route.ts'
import { shapeOf } from '../shape.ts'
import { answerLog } from './plugin-logs.ts'

const ROOT = 'plugin_configs/'
const ONE = `${ROOT}:plugin_config_id/`

export const PLUGIN_ROUTES = [
  organizationRoute({
    method: 'GET',
    path: 'plugins/',
    scope: 'plugin:read',
    says: 'List what the server can do with events.',
    query: PageQuery,
    answers: { 200: PluginPage },
    answer: (needs, { request }) => answerPage(request, needs.publicUrl(), PLUGINS),
  }),
  projectRoute({
    method: 'GET',
    path: ROOT,
    scope: 'plugin:read',
    says: 'List the plugin configs of a project, in the order they work in.',
    query: PageQuery,
    answers: { 200: PluginConfigPage },
    answer: (needs, { request, project }) => {
      const all = listPluginConfigs(needs.control, project.id)
      return answerPage(request, needs.publicUrl(), all, configOnWire)
    },
  }),
  projectRoute({
    method: 'POST',
    path: ROOT,
    scope: 'plugin:write',
    says: 'Set a plugin to work for a project.',
    body: shapeOf(PluginConfigBody),
    answers: { 201: PluginConfigAnswer },
    answer: (needs, { asker, project, body }) => {
      const wanted = {
        ...fieldsOf(body),
        plugin_id: body.plugin,
        seq: needs.destinations.lastSeq(),
      }
      const actor = actorOf(needs, asker, project)
      const config = createPluginConfig(needs.control, actor, wanted, needs.now())
      return answerJson(configOnWire(config), 201)
    },
  }),
  projectRoute({
    method: 'GET',
    path: ONE,
    scope: 'plugin:read',
    says: 'Read a plugin config.',
    answers: { 200: PluginConfigAnswer },
    answer: (needs, { project, params }) => {
      const id = namedIn(params, 'plugin_config_id')
      return answerJson(configOnWire(getPluginConfig(needs.control, project.id, id)))
    },
  }),
  projectRoute({
    method: 'PATCH',
    path: ONE,
    scope: 'plugin:write',
    says: 'Change how a plugin works; secrets sent back hidden stay as they are, but go to no other server.',
    body: shapeOf(PluginConfigChange),
    answers: { 200: PluginConfigAnswer },
    answer: (needs, { asker, project, params, body }) => {
      const id = namedIn(params, 'plugin_config_id')
      const config = getPluginConfig(needs.control, project.id, id)
      const actor = actorOf(needs, asker, project)
      const asked = { fields: fieldsOf(body), now: needs.now() }
      return answerJson(configOnWire(changePluginConfig(needs.control, actor, config, asked)))
    },
  }),
  projectRoute({
    method: 'DELETE',
    path: ONE,
    scope: 'plugin:write',
    says: 'Take a plugin off a project, with its log.',
    answers: { 204: null },
    answer: (needs, { asker, project, params }) => {
      const id = namedIn(params, 'plugin_config_id')
      const config = getPluginConfig(needs.control, project.id, id)
      deletePluginConfig(needs.control, actorOf(needs, asker, project), config, needs.now())
      return answerNothing()
    },
  }),
  projectRoute({
    method: 'GET',
    path: `${ONE}logs/`,
    scope: 'plugin:read',
    says: 'Read the log of a plugin config, newest first.',
    query: LogQuery,
    answers: { 200: LogPage },
    answer: (needs, { request, project, params }) => {
      const id = namedIn(params, 'plugin_config_id')
      return answerLog(needs, request, getPluginConfig(needs.control, project.id, id))
    },
  }),
] as const

function actorOf(needs: Needs, { user_id }: { readonly user_id: number }, project: Project) {
  return { user_id, project, addresses: needs.addresses }
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
    // What the schema has let through is JSON, as it was parsed.
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
    config: shownConfig(config),
    team_id: project_id,
    created_at,
    updated_at,
  }
}
