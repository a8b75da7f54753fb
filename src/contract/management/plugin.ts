/** Schemas of plugins, their configurations and logs. */
import { t } from 'elysia'
import { AnyJson, Moment, pageOfItems, Uuid, Whole } from '../common.ts'

const PluginAnswer = t.Object({
  id: Whole,
  key: t.String(),
  name: t.String(),
  kind: t.String(),
  description: t.String(),
  fields: t.Array(
    t.Object({ key: t.String(), type: t.String(), is_required: t.Boolean(), help: t.String() }),
  ),
})
export const PluginPage = pageOfItems(PluginAnswer)

export const PluginConfigAnswer = t.Object({
  id: Whole,
  plugin: Whole,
  plugin_info: t.Nullable(PluginAnswer),
  name: t.String(),
  enabled: t.Boolean(),
  order: Whole,
  config: t.Object({}, { additionalProperties: true }),
  team_id: Whole,
  created_at: Moment,
  updated_at: Moment,
})
export const PluginConfigPage = pageOfItems(PluginConfigAnswer)

const settable = {
  name: t.Optional(t.Nullable(t.String())),
  enabled: t.Optional(t.Boolean()),
  order: t.Optional(Whole),
  config: t.Optional(t.Object({}, { additionalProperties: true })),
}

/** Body of POST …/plugin_configs/. */
export const PluginConfigBody = t.Object(
  { plugin: Whole, ...settable },
  { additionalProperties: true },
)

/** Body of PATCH; the plugin of a configuration never changes. */
export const PluginConfigChange = t.Object(settable, { additionalProperties: true })

const LogEntryAnswer = t.Object({
  id: Uuid,
  team_id: Whole,
  plugin_id: Whole,
  plugin_config_id: Whole,
  timestamp: Moment,
  source: t.String(),
  type: t.String(),
  message: t.String(),
  instance_id: Uuid,
})
export const LogPage = pageOfItems(LogEntryAnswer)

/** Query parameters of logs; `type_filter` may be given several times. */
export const LogQuery = t.Object({
  limit: t.Optional(Whole),
  offset: t.Optional(Whole),
  after: t.Optional(Moment),
  before: t.Optional(Moment),
  search: t.Optional(t.String()),
  type_filter: t.Optional(t.Array(AnyJson)),
})
