/** PLUGINS: the plugins of this server with their settings. */

/** A setting of a plugin. */
export type PluginField = {
  readonly key: string
  readonly type: 'boolean' | 'headers' | 'id' | 'text' | 'texts' | 'url'
  readonly is_required: boolean
  readonly help: string
}

export type Plugin = {
  readonly id: number
  /** The name in the code. */
  readonly key: string
  readonly name: string
  /** A transformation changes events before they are stored; a destination receives stored events. */
  readonly kind: 'destination' | 'transformation'
  readonly description: string
  readonly fields: readonly PluginField[]
}

const PROPERTIES: PluginField = {
  key: 'properties',
  type: 'texts',
  is_required: false,
  help: 'names of properties; those with the page, its referrer and links by default',
}

/** Every plugin. Ids are stored and never reused. A new transformation also needs a line in TRANSFORMATIONS. */
export const PLUGINS = [
  {
    id: 1,
    key: 'geoip',
    name: 'GeoIP',
    kind: 'transformation',
    description: 'Adds where an event came from. On unless a configuration of it is switched off.',
    fields: [],
  },
  {
    id: 2,
    key: 'property_filter',
    name: 'Property filter',
    kind: 'transformation',
    description:
      'Removes properties from every event, and from the person properties that it sets.',
    fields: [{ ...PROPERTIES, is_required: true, help: 'names of properties to remove' }],
  },
  {
    id: 3,
    key: 'drop_events',
    name: 'Drop events',
    kind: 'transformation',
    description: 'Drops events by name: those that are listed, or all others.',
    fields: [
      { key: 'events', type: 'texts', is_required: true, help: 'names of events' },
      { key: 'keep_only', type: 'boolean', is_required: false, help: 'drop all others instead' },
    ],
  },
  {
    id: 4,
    key: 'url_normalizer',
    name: 'URL normalizer',
    kind: 'transformation',
    description: 'Normalizes addresses: lower case, no final slash, optionally no query.',
    fields: [
      PROPERTIES,
      { key: 'drop_query', type: 'boolean', is_required: false, help: 'cut at ? and #' },
    ],
  },
  {
    id: 5,
    key: 'ip_anonymizer',
    name: 'IP anonymizer',
    kind: 'transformation',
    description: 'Sets the last part of an event’s address to zero, once it has been located.',
    fields: [],
  },
  {
    id: 6,
    key: 'webhook',
    name: 'Webhook',
    kind: 'destination',
    description: 'Posts stored events as JSON, up to a hundred at a time and in order.',
    fields: [
      { key: 'url', type: 'url', is_required: true, help: 'where to post to' },
      { key: 'events', type: 'texts', is_required: false, help: 'names of events; all by default' },
      { key: 'headers', type: 'headers', is_required: false, help: 'sent with every request' },
      {
        key: 'secret',
        type: 'text',
        is_required: false,
        help: 'signs bodies: X-Tidemark-Signature',
      },
    ],
  },
  {
    id: 7,
    key: 'rest_hook',
    name: 'REST hook',
    kind: 'destination',
    description:
      'Posts every event that is an action, with its person, one at a time. Made and ended at hooks/.',
    fields: [
      { key: 'url', type: 'url', is_required: true, help: 'where to post to' },
      { key: 'action', type: 'id', is_required: true, help: 'the id of an action' },
    ],
  },
] as const satisfies readonly Plugin[]

/** The plugin of REST hooks. */
export const REST_HOOK_ID = 7

export type PluginKey = (typeof PLUGINS)[number]['key']

/** The plugin with an id; null if there is none. */
export function findPlugin(id: number): ((typeof PLUGINS)[number] & Plugin) | null {
  return PLUGINS.find((plugin) => plugin.id === id) ?? null
}
