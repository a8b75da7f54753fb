/** BREAKDOWNS: the tables of the page, the values of their rows, and the filter of a row. */
import type { WebBreakdownAnswer } from '../../../contract/insights/answers.ts'
import type { WebStatsTableQuery } from '../../../contract/insights/web.ts'
import type { PropertyCondition } from '../../parts/filters/conditions.ts'
import { countryName } from '../../parts/names.ts'

export type WebBreakdownTab = {
  readonly by: WebStatsTableQuery['breakdownBy']
  /** In the address, and unique within the card; the breakdown's name without it. */
  readonly name?: string
  /** Draws a map; without it rows of a table. */
  readonly look?: 'map'
  /** The title of the tab, which also names a row. */
  readonly title: string
  /** The properties whose values are the row's value: one, or one per part of a tuple. */
  readonly keys: readonly (readonly [owner: 'event' | 'session', key: string])[]
  /** Formats a value that is hard to read, such as a country code. */
  readonly text?: (value: string) => string
}

export type WebBreakdownCard = { readonly title: string; readonly tabs: readonly WebBreakdownTab[] }

const event = (key: string): readonly ['event', string] => ['event', key]
const session = (key: string): readonly ['session', string] => ['session', key]

const COUNTRY: WebBreakdownTab = {
  by: 'Country',
  title: 'Country',
  keys: [event('$geoip_country_code')],
  text: (value) => countryName(value),
}

/** The cards in their order. Adding a tab means adding a line. */
export const BREAKDOWNS: readonly WebBreakdownCard[] = [
  {
    title: 'Pages',
    tabs: [
      { by: 'Page', title: 'Page', keys: [event('$pathname')] },
      { by: 'InitialPage', title: 'Entry', keys: [session('$entry_pathname')] },
      { by: 'ExitPage', title: 'Exit', keys: [session('$end_pathname')] },
    ],
  },
  {
    title: 'Sources',
    tabs: [
      { by: 'InitialChannelType', title: 'Channel', keys: [session('$channel_type')] },
      {
        by: 'InitialReferringDomain',
        title: 'Referrer',
        keys: [session('$entry_referring_domain')],
        text: (value) => (value === '$direct' ? 'Direct' : value),
      },
      { by: 'InitialUTMSource', title: 'UTM source', keys: [session('$entry_utm_source')] },
      { by: 'InitialUTMMedium', title: 'Medium', keys: [session('$entry_utm_medium')] },
      { by: 'InitialUTMCampaign', title: 'Campaign', keys: [session('$entry_utm_campaign')] },
    ],
  },
  {
    title: 'Places',
    tabs: [
      { ...COUNTRY, title: 'Map', name: 'Map', look: 'map' },
      COUNTRY,
      {
        by: 'Region',
        title: 'Region',
        keys: [
          event('$geoip_country_code'),
          event('$geoip_subdivision_1_code'),
          event('$geoip_subdivision_1_name'),
        ],
      },
      {
        by: 'City',
        title: 'City',
        keys: [event('$geoip_country_code'), event('$geoip_city_name')],
      },
      { by: 'Language', title: 'Language', keys: [event('$browser_language')] },
    ],
  },
  {
    title: 'Devices',
    tabs: [
      { by: 'DeviceType', title: 'Device', keys: [event('$device_type')] },
      { by: 'Browser', title: 'Browser', keys: [event('$browser')] },
      { by: 'OS', title: 'System', keys: [event('$os')] },
    ],
  },
]

/** A tab as the address has it. */
export const tabName = ({ name, by }: WebBreakdownTab): string => name ?? by

/** A value in words: `Amsterdam, Netherlands`, `Netherlands`, `/pricing`; `None` where nothing was sent. */
export function breakdownText({ text }: WebBreakdownTab, value: WebBreakdownAnswer): string {
  if (value === null || value === '') return 'None'
  if (typeof value === 'number') return `${value}`
  if (typeof value === 'string') return text?.(value) ?? value
  const [country = null, ...inner] = value
  const place = inner.findLast((part) => part !== null && part !== '') ?? null
  const country_text = country === null || country === '' ? null : countryName(country)
  const parts = [place, country_text].filter((part) => part !== null)
  return parts.length === 0 ? 'None' : parts.join(', ')
}

/** The conditions that keep only this row. */
export function conditionsOfRow(
  { keys }: WebBreakdownTab,
  value: WebBreakdownAnswer,
): readonly PropertyCondition[] {
  const parts = Array.isArray(value) ? value : [value === null ? null : `${value}`]
  return keys.map(([type, key], index) => {
    const part = parts[index] ?? null
    return part === null || part === ''
      ? { type, key, operator: 'is_not_set' }
      : { type, key, operator: 'exact', value: [part] }
  })
}
