/** The sessions view, computed from events. */

import { parseExpr } from '../parser/parser.ts'
import { STRING, withNull } from '../types/types.ts'
import { channelType } from './channels.ts'
import {
  computedField,
  equal,
  type FieldDef,
  type JoinDef,
  type TableSource,
  TEAM_ID,
  type ViewDef,
  viewColumns,
  viewFields,
} from './definition.ts'
import { EVENTS_ALONE } from './events.ts'

/** Event properties that sessions read as text, whatever their definitions say. */
const READ: readonly string[] = [
  '$current_url',
  '$external_click_url',
  '$referring_domain',
  '$web_vitals_LCP_value',
  '_kx',
  'dclid',
  'epik',
  'fbclid',
  'gad_source',
  'gbraid',
  'gclid',
  'gclsrc',
  'igshid',
  'irclid',
  'li_fat_id',
  'mc_cid',
  'msclkid',
  'qclid',
  'sccid',
  'ttclid',
  'twclid',
  'utm_campaign',
  'utm_content',
  'utm_medium',
  'utm_source',
  'utm_term',
  'wbraid',
]

const TEXTS: FieldDef = {
  kind: 'row',
  fields: Object.fromEntries(
    READ.map((name) => [name, computedField((event) => textOf(event, name))]),
  ),
}

function textOf(event: TableSource, name: string): ReturnType<TableSource['computed']> {
  const of = event.column('properties', { kind: 'json', owner: 'event', nullable: false })
  return { kind: 'property', of, path: [name], type: withNull(STRING) }
}

/** The value of the first event of the session that has one. */
const firstValue = (name: string): string => `argMin(nullIf(texts.\`${name}\`, ''), timestamp)`
const lastValue = (name: string): string => `argMax(nullIf(texts.\`${name}\`, ''), timestamp)`

/** Maximum seconds of a single-page visit that counts as a bounce. */
const BOUNCE_S = 10

const ENTRY_NAMES = READ.filter((name) => !name.startsWith('$'))

const COLUMNS: Readonly<Record<string, string>> = {
  session_id: '`$session_id`',
  id: 'session_id',
  session_id_v7: 'toUUIDOrNull(session_id)',
  session_timestamp:
    "ifNull(if(substring(session_id, 15, 1) = '7', UUIDv7ToDateTime(toUUIDOrNull(session_id)), NULL), `$start_timestamp`)",
  distinct_id: 'argMax(distinct_id, timestamp)',
  $start_timestamp: 'min(timestamp)',
  $end_timestamp: 'max(timestamp)',
  max_inserted_at: 'max(created_at)',
  $urls:
    "arrayDistinct(groupArrayIf(texts.`$current_url`, texts.`$current_url` != '' ORDER BY timestamp))",
  $num_uniq_urls: "uniqIf(texts.`$current_url`, texts.`$current_url` != '')",
  $entry_current_url: firstValue('$current_url'),
  $entry_pathname: 'path(`$entry_current_url`)',
  $entry_hostname: 'domain(`$entry_current_url`)',
  $end_current_url: lastValue('$current_url'),
  $end_pathname: 'path(`$end_current_url`)',
  $end_hostname: 'domain(`$end_current_url`)',
  $exit_current_url: '`$end_current_url`',
  $exit_pathname: '`$end_pathname`',
  $exit_hostname: '`$end_hostname`',
  $entry_referring_domain: firstValue('$referring_domain'),
  $last_external_click_url: lastValue('$external_click_url'),
  ...Object.fromEntries(ENTRY_NAMES.map((name) => [`$entry_${name}`, firstValue(name)])),
  $entry_has_gclid: '`$entry_gclid` IS NOT NULL',
  $entry_has_fbclid: '`$entry_fbclid` IS NOT NULL',
  $pageview_count: "countIf(event = '$pageview')",
  $autocapture_count: "countIf(event = '$autocapture')",
  $screen_count: "countIf(event = '$screen')",
  $event_count_map: 'sumMap(map(event, 1))',
  $has_autocapture: '`$autocapture_count` > 0',
  $has_replay_events: "countIf(event IN ('$snapshot', '$snapshot_items')) > 0",
  $channel_type: channelType(),
  $vitals_lcp: 'argMin(toFloat(texts.`$web_vitals_LCP_value`), timestamp)',
  $session_duration: "dateDiff('second', `$start_timestamp`, `$end_timestamp`)",
  duration: '`$session_duration`',
  $is_bounce: `if(\`$pageview_count\` + \`$screen_count\` = 0, NULL, not(\`$pageview_count\` + \`$screen_count\` > 1 or \`$autocapture_count\` > 0 or \`$session_duration\` >= ${BOUNCE_S}))`,
}

const HAS_SESSION = parseExpr("`$session_id` != ''")

/** One row per session id of any event. */
export const SESSIONS: ViewDef = {
  kind: 'view',
  of: { ...EVENTS_ALONE, fields: { ...EVENTS_ALONE.fields, texts: TEXTS } },
  columns: viewColumns(COLUMNS),
  where: () => HAS_SESSION,
  group_by: ['session_id'],
  instants: ['$start_timestamp', '$end_timestamp'],
  fields: {
    ...viewFields(COLUMNS),
    $event_count_map: computedField((session) => session.computed('$event_count_map'), false),
    team_id: TEAM_ID,
  },
  joins: {},
}

/** The session of an event. */
export const SESSION_OF_EVENT: JoinDef = {
  table: SESSIONS,
  near: 'timestamp',
  on: (event, session) => {
    const field = EVENTS_ALONE.fields['$session_id']
    if (field?.kind !== 'value') throw new Error('events have no $session_id')
    return equal(session.computed('session_id'), field.build(event))
  },
}
