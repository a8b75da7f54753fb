/** Plugin configurations: the plugins of a project, their order and settings. */
import { and, asc, eq, isNotNull } from 'drizzle-orm'
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { Refusal, unknownId } from '../errors.ts'
import { changesBetween, recordActivity } from '../projects/activity.ts'
import { parseName } from '../projects/names.ts'
import type { ControlDB } from '../projects/rights/access.ts'
import { flag, type Json, json, timestamp } from '../projects/tables.ts'
import type { Addresses } from './addresses.ts'
import { findPlugin, type Plugin, type PluginField } from './catalog.ts'
import { addLogEntry } from './plugin-log.ts'

const plugin_configs = sqliteTable('plugin_configs', {
  id: integer().primaryKey({ autoIncrement: true }),
  project_id: integer().notNull(),
  plugin_id: integer().notNull(),
  name: text().notNull(),
  enabled: flag().notNull().default(true),
  position: integer().notNull().default(0),
  config: json().notNull().default({}),
  sent_seq: integer(),
  created_by: integer(),
  created_at: timestamp().notNull(),
  updated_at: timestamp().notNull(),
})

export type PluginConfig = typeof plugin_configs.$inferSelect

/** The editable fields of a configuration. A missing field keeps its value, or gets the default of a new one. */
export type PluginConfigFields = {
  readonly name?: string
  readonly enabled?: boolean
  readonly position?: number
  readonly config?: Readonly<Record<string, Json>>
}

/** The user who edits, the project, and the check of addresses. */
type ConfigActor = {
  readonly user_id: number
  readonly project: { readonly id: number; readonly organization_id: string }
  readonly addresses: Addresses
}

/** Placeholder of secrets in answers; sent back, it keeps the stored value. */
const HIDDEN = '**************'

const NAME_LENGTH_MAX = 400
const TEXT_LENGTH_MAX = 2000
const TEXTS_MAX = 1000
const CONFIGS_MAX = 100
const POSITION_MAX = 1_000_000
const TRANSACTION = { behavior: 'immediate' } as const

/** The configurations of a project, in order of execution. */
export function listPluginConfigs(db: ControlDB, project_id: number): readonly PluginConfig[] {
  return db
    .select()
    .from(plugin_configs)
    .where(eq(plugin_configs.project_id, project_id))
    .orderBy(asc(plugin_configs.position), asc(plugin_configs.id))
    .all()
}

/** Every enabled destination of all projects. */
export function listDestinations(db: ControlDB): readonly PluginConfig[] {
  const on = and(eq(plugin_configs.enabled, true), isNotNull(plugin_configs.sent_seq))
  return db.select().from(plugin_configs).where(on).orderBy(asc(plugin_configs.id)).all()
}

/** Finds a configuration of any project; null if there is none. */
export function findPluginConfig(db: ControlDB, id: number): PluginConfig | null {
  return db.select().from(plugin_configs).where(eq(plugin_configs.id, id)).get() ?? null
}

/** A configuration of a project. Refuses (`not_found`) one of another project. */
export function getPluginConfig(db: ControlDB, project_id: number, id: string): PluginConfig {
  const config = /^[1-9]\d{0,14}$/.test(id) ? findPluginConfig(db, Number(id)) : null
  if (config?.project_id === project_id) return config
  throw new Refusal('not_found', 'Not found.')
}

/** Creates a configuration. A destination receives the events after `seq`. */
export function createPluginConfig(
  db: ControlDB,
  actor: ConfigActor,
  draft: PluginConfigFields & { readonly plugin_id: number; readonly seq: number },
  now: Date,
): PluginConfig {
  const plugin = findPlugin(draft.plugin_id)
  if (plugin === null) {
    throw new Refusal('does_not_exist', unknownId(draft.plugin_id), { attr: 'plugin' })
  }
  const fields = parseFields(plugin, draft, { actor, stored: {} })
  return db.transaction((tx) => {
    if (listPluginConfigs(tx, actor.project.id).length >= CONFIGS_MAX) {
      throw new Refusal('invalid_input', `A project has at most ${CONFIGS_MAX} plugin configs.`)
    }
    const config = tx
      .insert(plugin_configs)
      .values({
        name: plugin.name,
        ...fields,
        project_id: actor.project.id,
        plugin_id: plugin.id,
        sent_seq: plugin.kind === 'destination' ? draft.seq : null,
        created_by: actor.user_id,
        created_at: now,
        updated_at: now,
      })
      .returning()
      .get()
    note(tx, actor, { before: null, after: config }, now)
    logState(tx, config, now)
    return config
  }, TRANSACTION)
}

/** Changes a configuration. A destination that is switched on again receives the events after `seq`. Refuses invalid settings. */
export function changePluginConfig(
  db: ControlDB,
  actor: ConfigActor,
  before: PluginConfig,
  change: { readonly fields: PluginConfigFields; readonly seq: number; readonly now: Date },
): PluginConfig {
  const plugin = findPlugin(before.plugin_id)
  if (plugin === null) throw new Refusal('not_found', 'Not found.')
  const { fields: sent, seq, now } = change
  const stored = before.config as Readonly<Record<string, Json>>
  const fields = parseFields(plugin, sent, { actor, stored })
  const { sent_seq } = before
  const begins_again = !before.enabled && sent.enabled === true && sent_seq !== null
  return db.transaction((tx) => {
    const after = tx
      .update(plugin_configs)
      .set({ ...fields, ...(begins_again && { sent_seq: seq }), updated_at: now })
      .where(eq(plugin_configs.id, before.id))
      .returning()
      .get()
    if (after === undefined) throw new Refusal('not_found', 'Not found.')
    note(tx, actor, { before, after }, now)
    if (after.enabled !== before.enabled) logState(tx, after, now)
    if (begins_again && sent_seq < seq) logSkipped(tx, after, { from: sent_seq, to: seq }, now)
    return after
  }, TRANSACTION)
}

/** Deletes a configuration with its log. */
export function deletePluginConfig(
  db: ControlDB,
  actor: ConfigActor,
  config: PluginConfig,
  now: Date,
): void {
  db.transaction((tx) => {
    tx.delete(plugin_configs).where(eq(plugin_configs.id, config.id)).run()
    note(tx, actor, { before: config, after: null }, now)
  }, TRANSACTION)
}

/** Moves the last event that a destination has received. Returns false where it is another one than `from` by now. */
export function moveSent(
  db: ControlDB,
  id: number,
  { from, to }: { readonly from: number; readonly to: number },
): boolean {
  const its = and(eq(plugin_configs.id, id), eq(plugin_configs.sent_seq, from))
  const moved = db
    .update(plugin_configs)
    .set({ sent_seq: to })
    .where(its)
    .returning({ id: plugin_configs.id })
    .get()
  return moved !== undefined
}

/** The settings with placeholders for secrets, for answers and the activity log. */
export function serializeConfig({
  plugin_id,
  config,
}: PluginConfig): Readonly<Record<string, Json>> {
  const fields: readonly PluginField[] = findPlugin(plugin_id)?.fields ?? []
  const secret = new Set(fields.filter(isSecret).map(({ key }) => key))
  return Object.fromEntries(
    Object.entries(config as Readonly<Record<string, Json>>).map(([key, value]) => [
      key,
      secret.has(key) && value !== null ? HIDDEN : value,
    ]),
  )
}

const isSecret = ({ key, type }: PluginField): boolean => type === 'headers' || key === 'secret'

type PluginSetting = {
  readonly actor: ConfigActor
  readonly stored: Readonly<Record<string, Json>>
}

function parseFields(plugin: Plugin, sent: PluginConfigFields, setting: PluginSetting) {
  const { name, enabled, position, config } = sent
  if (position !== undefined && (position < 0 || position > POSITION_MAX)) {
    throw new Refusal('invalid_input', 'A valid position is required.', { attr: 'order' })
  }
  return {
    ...(name === undefined ? {} : { name: parseName(name, NAME_LENGTH_MAX) }),
    ...(enabled === undefined ? {} : { enabled }),
    ...(position === undefined ? {} : { position }),
    config: parseConfig(plugin, config ?? {}, setting),
  }
}

/** Parses the settings of a plugin. Missing ones keep their stored value; unknown ones are ignored. */
function parseConfig(
  plugin: Plugin,
  changes: Readonly<Record<string, Json>>,
  { actor, stored }: PluginSetting,
): Readonly<Record<string, Json>> {
  const config: Record<string, Json> = {}
  const sent = { ...stored, ...changes }
  requireFreshSecrets(plugin, changes, stored)
  for (const field of plugin.fields) {
    const value = sent[field.key] === HIDDEN ? stored[field.key] : sent[field.key]
    const attr = `config__${field.key}`
    if (value === undefined || value === null) {
      if (field.is_required) throw new Refusal('required', 'This field is required.', { attr })
      continue
    }
    if (!isOfType(field, value)) {
      throw new Refusal('invalid_input', `Not a valid value: ${field.help}.`, { attr })
    }
    if (field.type === 'url' && typeof value === 'string') {
      actor.addresses.requirePublicUrl(value, attr)
    }
    config[field.key] = value
  }
  return config
}

/**
 * Requires the secrets again when the URL moves to another origin: a caller who cannot read a stored secret must not
 * redirect it to another server. Null deletes a secret. The refusal names the missing one.
 */
function requireFreshSecrets(
  { fields }: Plugin,
  changes: Readonly<Record<string, Json>>,
  stored: Readonly<Record<string, Json>>,
): void {
  const is_moved = fields.some(
    ({ key, type }) =>
      type === 'url' &&
      changes[key] !== undefined &&
      originOf(changes[key]) !== originOf(stored[key]),
  )
  if (!is_moved) return
  const missing = fields.find(
    (field) =>
      isSecret(field) &&
      (stored[field.key] ?? null) !== null &&
      (changes[field.key] === undefined || changes[field.key] === HIDDEN),
  )
  if (missing === undefined) return
  const detail = `The address leads to another server: send ${missing.key} again, or null for none.`
  throw new Refusal('required', detail, { attr: `config__${missing.key}` })
}

function originOf(url: Json | undefined): string | null {
  return typeof url === 'string' ? (URL.parse(url)?.origin ?? null) : null
}

function isOfType({ type, is_required }: PluginField, value: Json): boolean {
  switch (type) {
    case 'boolean':
      return typeof value === 'boolean'
    case 'id':
      return typeof value === 'number' && Number.isSafeInteger(value) && value > 0
    case 'text':
    case 'url':
      return isText(value)
    case 'texts':
      if (!Array.isArray(value) || value.length > TEXTS_MAX) return false
      return value.every(isText) && (value.length > 0 || !is_required)
    case 'headers':
      return isHeaders(value)
  }
}

const isText = (value: unknown): boolean =>
  typeof value === 'string' && value !== '' && value.length <= TEXT_LENGTH_MAX

/** Whether a value is an object of valid HTTP headers. Those that the server sets itself are excluded. */
function isHeaders(value: Json): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const entries = Object.entries(value)
  return (
    entries.length <= 50 &&
    entries.every(
      ([name, content]) =>
        /^[A-Za-z0-9-]{1,100}$/.test(name) &&
        !/^(host|content-length|transfer-encoding|trailer|connection|x-tidemark-.*)$/i.test(name) &&
        typeof content === 'string' &&
        /^[\x20-\x7e]{0,2000}$/.test(content),
    )
  )
}

function logState(db: ControlDB, config: PluginConfig, now: Date): void {
  const name = findPlugin(config.plugin_id)?.name ?? 'Plugin'
  const message = config.enabled ? `${name} is on.` : `${name} is off.`
  addLogEntry(db, config, { source: 'SYSTEM', type: 'INFO', message }, now)
}

/** Logs the events of the server that a destination did not get before it was switched off, and those from then on. */
function logSkipped(
  db: ControlDB,
  config: PluginConfig,
  { from, to }: { readonly from: number; readonly to: number },
  now: Date,
): void {
  const message = `Events ${from + 1} to ${to} of the server were not sent before it was switched off, or came after that; those of the project are skipped.`
  addLogEntry(db, config, { source: 'SYSTEM', type: 'INFO', message }, now)
}

function note(
  db: ControlDB,
  { user_id, project }: ConfigActor,
  { before, after }: { readonly before: PluginConfig | null; readonly after: PluginConfig | null },
  now: Date,
): void {
  const config = after ?? before
  if (config === null) return
  recordActivity(
    db,
    {
      organization_id: project.organization_id,
      project_id: project.id,
      user_id,
      scope: 'PluginConfig',
      item_id: String(config.id),
      activity: before === null ? 'created' : after === null ? 'deleted' : 'updated',
      name: config.name,
      changes:
        before === null || after === null
          ? []
          : changesBetween('PluginConfig', visibleFields(before), visibleFields(after)),
    },
    now,
  )
}

function visibleFields(config: PluginConfig) {
  const { name, enabled, position } = config
  return { name, enabled, position, config: serializeConfig(config) }
}
