/** STEPS: validates and enriches one captured event before anything is written. */
import { Refusal } from '../../errors.ts'
import { isUuid, parseUuid } from '../../uuid.ts'
import type { DropReason } from '../notes/counters.ts'
import type { Warning } from '../notes/warnings.ts'
import { cleanValue, isDeeperThan } from './clean.ts'
import { flattenElements } from './elements.ts'
import {
  addWarning,
  type EventDraft,
  type PipelineStep,
  type RequestContext,
} from './event-draft.ts'
import { hideAddress, locateEvent } from './location.ts'
import {
  LARGE_CHANGES_LENGTH,
  limitChanges,
  noteSurvey,
  readGroups,
  readMerge,
  readPersonMode,
  readUpdate,
} from './person-steps.ts'
import { runPlugins } from './plugins.ts'
import type { SentObject } from './requests.ts'
import { cutText, EVENT_TEXT_LENGTH_MAX, propertyText } from './text.ts'
import { resolveTimestamp } from './timestamps.ts'

/**
 * The steps of every captured event, in order. A new line changes, drops or refuses events: see `PipelineStep`. A
 * `require…` drops or refuses, a `read…` fills the draft from the JSON, every other verb changes the properties.
 */
const STEPS: readonly PipelineStep[] = [
  requireProperties,
  requireEventName,
  requireDistinctId,
  requireStoredKind,
  readUuid,
  resolveTime,
  addRequestProperties,
  lowerSessionId,
  locateEvent,
  hideAddress,
  runPlugins,
  fillSystem,
  flattenElements,
  readPersonMode,
  noteSurvey,
  readUpdate,
  readMerge,
  readGroups,
]

type EventVerdict =
  | { readonly kind: 'accepted'; readonly event: Readonly<EventDraft> }
  | {
      readonly kind: 'dropped'
      readonly reason: DropReason
      readonly warnings: readonly Warning[]
    }

/** Runs an event through STEPS. Throws a `Refusal` when its whole request must be refused. */
export function runPipeline(
  sent: SentObject,
  request_context: RequestContext,
  is_text_clean: boolean,
): EventVerdict {
  if (isDeeperThan(sent, request_context.limits.depth_max)) {
    throw new Refusal(
      'invalid_payload',
      `Invalid payload: an event is nested deeper than ${request_context.limits.depth_max} levels`,
    )
  }
  const draft = startDraft(is_text_clean ? sent : (cleanValue(sent) as SentObject), request_context)
  for (const step of STEPS) {
    const reason = step(draft)
    if (reason !== null) return { kind: 'dropped', reason, warnings: draft.warnings }
  }
  return { kind: 'accepted', event: finishDraft(draft) }
}

const NOTHING_SENT: SentObject = {}
const NOTHING: readonly never[] = []

function startDraft(sent: SentObject, request_context: RequestContext): EventDraft {
  return {
    sent,
    request_context,
    event: '',
    distinct_id: '',
    id_key: '',
    uuid: null,
    timestamp: request_context.now,
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

function finishDraft(draft: EventDraft): EventDraft {
  const text = JSON.stringify(draft.properties)
  const { event_bytes_max } = draft.request_context.limits
  // A UTF-16 unit takes at most three bytes, so most texts need no count of bytes.
  if (text.length * 3 > event_bytes_max && Buffer.byteLength(text) > event_bytes_max) {
    throw tooLarge(`An event is larger than ${event_bytes_max} bytes.`)
  }
  draft.properties_text = text
  if (text.length > LARGE_CHANGES_LENGTH) {
    const { update, group, warnings } = limitChanges(draft, draft.request_context.limits)
    Object.assign(draft, { update, group, warnings: [...draft.warnings, ...warnings] })
  }
  draft.sent = NOTHING_SENT
  return draft
}

function tooLarge(detail: string): Refusal {
  return new Refusal('request_too_large', detail, { attr: 'properties' })
}

function requireProperties(draft: EventDraft): null {
  const properties = draft.sent['properties'] ?? {}
  if (typeof properties !== 'object' || Array.isArray(properties)) {
    throw new Refusal('invalid_payload', 'Invalid payload: properties must be an object', {
      attr: 'properties',
    })
  }
  draft.properties = properties as SentObject
  const { properties_max } = draft.request_context.limits
  let room = properties_max
  for (const _ in properties) room -= 1
  if (room < 0) throw tooLarge(`An event has more than ${properties_max} properties.`)
  return null
}

function requireEventName(draft: EventDraft): DropReason | null {
  const name = draft.request_context.is_engage ? '$identify' : draft.sent['event']
  if (name === undefined || name === null || name === '') {
    addWarning(draft, { type: 'missing_event_name', key: '', details: {} })
    return 'missing_event_name'
  }
  draft.event = cutText(propertyText(name))
  return null
}

function requireDistinctId(draft: EventDraft): DropReason | null {
  const { sent, properties } = draft
  const id =
    sent['distinct_id'] ??
    sent['$distinct_id'] ??
    properties['distinct_id'] ??
    properties['$distinct_id']
  const distinct_id = id === undefined || id === null ? '' : cutText(propertyText(id))
  if (distinct_id === '') {
    addWarning(draft, {
      type: 'missing_distinct_id',
      key: draft.event,
      details: { event: draft.event },
    })
    return 'missing_distinct_id'
  }
  draft.distinct_id = distinct_id
  draft.id_key = `${draft.request_context.project.id}:${distinct_id}`
  return null
}

/** Characters of an SDK's own warning. Warnings are kept in the memory of the query process. */
const MESSAGE_LENGTH_MAX = 400

/** Drops kinds that are not stored: session recordings, performance events of old SDKs, warnings of SDKs. */
function requireStoredKind(draft: EventDraft): DropReason | null {
  switch (draft.event) {
    case '$performance_event':
      return 'performance_event'
    case '$snapshot':
    case '$snapshot_items':
      return 'session_recording'
    case '$$client_ingestion_warning':
      addWarning(draft, {
        type: 'client_ingestion_warning',
        key: draft.distinct_id,
        details: {
          distinct_id: draft.distinct_id,
          message: cutText(
            propertyText(draft.properties['$$client_ingestion_warning_message'] ?? ''),
            MESSAGE_LENGTH_MAX,
          ),
        },
      })
      return 'client_ingestion_warning'
    default:
      return null
  }
}

function readUuid(draft: EventDraft): null {
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

function resolveTime(draft: EventDraft): null {
  const { request_context, sent, properties } = draft
  // An import sends old timestamps: the clock of the importing machine must not correct them.
  const ignores_sent_at = request_context.is_historical || properties['$ignore_sent_at'] === true
  const { timestamp, warning } = resolveTimestamp({
    timestamp: sent['timestamp'],
    offset: sent['offset'],
    ignores_sent_at,
    sent_at: request_context.sent_at,
    now: request_context.now,
  })
  draft.timestamp = timestamp
  if (warning !== null) {
    addWarning(draft, {
      type: warning,
      key: draft.distinct_id,
      details: {
        event: draft.event,
        distinct_id: draft.distinct_id,
        timestamp: propertyText(sent['timestamp'] ?? '').slice(0, EVENT_TEXT_LENGTH_MAX),
      },
    })
  }
  return null
}

function addRequestProperties(draft: EventDraft): null {
  const { request_context, properties } = draft
  if (properties['$ip'] === undefined || properties['$ip'] === null) {
    const ip = properties['capture_internal'] ? '127.0.0.1' : request_context.client_ip
    if (ip !== '') properties['$ip'] = ip
  }
  if (request_context.sent_at_text !== null) properties['$sent_at'] = request_context.sent_at_text
  return null
}

/** `A1B2…` → `a1b2…`: iOS writes the UUIDs of sessions in capitals, and the parts of one session must have one id. */
function lowerSessionId({ properties }: EventDraft): null {
  const id = properties['$session_id']
  if (typeof id === 'string' && CAPITAL.test(id) && isUuid(id)) {
    properties['$session_id'] = id.toLowerCase()
  }
  return null
}

const CAPITAL = /[A-F]/

/**
 * Copies `$os_name`, which mobile SDKs send, to `$os`. Runs after the plugins, one of which recognizes the system and
 * the browser together. The system of a sending server is no user's.
 */
function fillSystem({ properties }: EventDraft): null {
  const name = properties['$os_name']
  if (name !== undefined && properties['$os'] === undefined && properties['$is_server'] !== true) {
    properties['$os'] = name
  }
  return null
}
