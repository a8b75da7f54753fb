/** STEPS: what happens to one captured event, in order, before anything is written (wire.md 1.4–1.8). */
import { Refusal } from '../errors.ts'
import { cleanValue, isDeeperThan } from './clean.ts'
import type { DropReason } from './counters.ts'
import { type Draft, type Step, type Surroundings, warn } from './draft.ts'
import { flattenElements } from './elements.ts'
import { hideAddress, locateEvent } from './location.ts'
import { readGroups, readMerge, readPersonMode, readUpdate } from './person-claims.ts'
import { runPlugins } from './plugins.ts'
import type { JsonObject } from './requests.ts'
import { cutText, NAME_LENGTH_MAX, textOf } from './text.ts'
import { resolveTimestamp } from './timestamps.ts'
import { parseUuid } from './uuid.ts'
import type { Warning } from './warnings.ts'

/** What happens to one captured event, in order. Adding behaviour means adding a line. */
const STEPS: readonly Step[] = [
  requireProperties,
  requireEventName,
  requireDistinctId,
  requireStoredKind,
  readUuid,
  resolveTime,
  addRequestProperties,
  locateEvent,
  hideAddress,
  runPlugins,
  flattenElements,
  readPersonMode,
  readUpdate,
  readMerge,
  readGroups,
]

export type Verdict =
  | { readonly kind: 'accepted'; readonly event: Readonly<Draft> }
  | {
      readonly kind: 'dropped'
      readonly reason: DropReason
      readonly warnings: readonly Warning[]
    }

/** Runs an event through STEPS. Throws a `Refusal` when its whole request must be refused. */
export function runPipeline(
  sent: JsonObject,
  around: Surroundings,
  is_text_clean: boolean,
): Verdict {
  if (isDeeperThan(sent, around.limits.depth_max)) {
    throw new Refusal(
      'invalid_payload',
      `Invalid payload: an event is nested deeper than ${around.limits.depth_max} levels`,
    )
  }
  const draft = startDraft(is_text_clean ? sent : (cleanValue(sent) as JsonObject), around)
  for (const step of STEPS) {
    const reason = step(draft)
    if (reason !== null) return { kind: 'dropped', reason, warnings: draft.warnings }
  }
  return { kind: 'accepted', event: finishDraft(draft) }
}

const NOTHING_SENT: JsonObject = {}
const NOTHING: readonly never[] = []

function startDraft(sent: JsonObject, around: Surroundings): Draft {
  return {
    sent,
    around,
    event: '',
    distinct_id: '',
    id_key: '',
    uuid: null,
    timestamp: around.now,
    properties: {},
    elements_chain: '',
    is_personless: false,
    update: null,
    merge: null,
    groups: NOTHING,
    group: null,
    properties_text: '',
    warnings: NOTHING,
  }
}

function finishDraft(draft: Draft): Draft {
  const text = JSON.stringify(draft.properties)
  const { event_bytes_max } = draft.around.limits
  // A UTF-16 unit makes at most three bytes, so most events need no counting.
  if (text.length * 3 > event_bytes_max && Buffer.byteLength(text) > event_bytes_max) {
    throw tooLarge(`An event is larger than ${event_bytes_max} bytes.`)
  }
  draft.properties_text = text
  draft.sent = NOTHING_SENT
  return draft
}

function tooLarge(detail: string): Refusal {
  return new Refusal('request_too_large', detail, { attr: 'properties' })
}

function requireProperties(draft: Draft): null {
  const properties = draft.sent['properties'] ?? {}
  if (typeof properties !== 'object' || Array.isArray(properties)) {
    throw new Refusal('invalid_payload', 'Invalid payload: properties must be an object', {
      attr: 'properties',
    })
  }
  draft.properties = properties as JsonObject
  const { properties_max } = draft.around.limits
  let room = properties_max
  for (const _ in properties) room -= 1
  if (room < 0) throw tooLarge(`An event has more than ${properties_max} properties.`)
  return null
}

function requireEventName(draft: Draft): DropReason | null {
  const name = draft.around.is_engage ? '$identify' : draft.sent['event']
  if (name === undefined || name === null || name === '') {
    warn(draft, { type: 'missing_event_name', key: '', details: {} })
    return 'missing_event_name'
  }
  draft.event = cutText(textOf(name))
  return null
}

function requireDistinctId(draft: Draft): DropReason | null {
  const { sent, properties } = draft
  const id =
    sent['distinct_id'] ??
    sent['$distinct_id'] ??
    properties['distinct_id'] ??
    properties['$distinct_id']
  const distinct_id = id === undefined || id === null ? '' : cutText(textOf(id))
  if (distinct_id === '') {
    warn(draft, {
      type: 'missing_distinct_id',
      key: draft.event,
      details: { event: draft.event },
    })
    return 'missing_distinct_id'
  }
  draft.distinct_id = distinct_id
  draft.id_key = `${draft.around.project.id}:${distinct_id}`
  return null
}

/** Kinds that are not events of the project: recordings, measurements of old clients, clients' own complaints. */
function requireStoredKind(draft: Draft): DropReason | null {
  switch (draft.event) {
    case '$performance_event':
      return 'performance_event'
    case '$snapshot':
    case '$snapshot_items':
      return 'session_recording'
    case '$$client_ingestion_warning':
      warn(draft, {
        type: 'client_ingestion_warning',
        key: draft.distinct_id,
        details: {
          distinct_id: draft.distinct_id,
          message: textOf(draft.properties['$$client_ingestion_warning_message'] ?? ''),
        },
      })
      return 'client_ingestion_warning'
    default:
      return null
  }
}

function readUuid(draft: Draft): null {
  const uuid = draft.sent['uuid']
  if (uuid === undefined || uuid === null || uuid === '') return null
  const bytes = typeof uuid === 'string' ? parseUuid(uuid) : null
  if (bytes === null) {
    throw new Refusal('invalid_payload', 'Event field "uuid" is not a valid UUID!', {
      attr: 'uuid',
    })
  }
  draft.uuid = bytes
  return null
}

function resolveTime(draft: Draft): null {
  const { around, sent, properties } = draft
  // A migration tells when things happened; the import's own clock says nothing about that.
  const ignores_sent_at = around.is_historical || properties['$ignore_sent_at'] === true
  const { timestamp, warning } = resolveTimestamp({
    timestamp: sent['timestamp'],
    offset: sent['offset'],
    ignores_sent_at,
    sent_at: around.sent_at,
    now: around.now,
  })
  draft.timestamp = timestamp
  if (warning !== null) {
    warn(draft, {
      type: warning,
      key: draft.distinct_id,
      details: {
        event: draft.event,
        distinct_id: draft.distinct_id,
        timestamp: textOf(sent['timestamp'] ?? '').slice(0, NAME_LENGTH_MAX),
      },
    })
  }
  return null
}

function addRequestProperties(draft: Draft): null {
  const { around, properties } = draft
  if (properties['$ip'] === undefined || properties['$ip'] === null) {
    const ip = properties['capture_internal'] ? '127.0.0.1' : around.client_ip
    if (ip !== '') properties['$ip'] = ip
  }
  if (around.sent_at_text !== null) properties['$sent_at'] = around.sent_at_text
  return null
}
