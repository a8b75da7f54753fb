/**
 * Applies a request's events inside a transaction: uuid → person → groups → log row → definitions, warnings, counters.
 */

import { automaticValues } from '../../identity/automatic-properties.ts'
import { type GroupClaim, identifyGroup, resolveGroups } from '../../identity/group.ts'
import type { IdentityLimits, MergeOutcome } from '../../identity/merge.ts'
import { MergeBudget } from '../../identity/merge-budget.ts'
import { type ResolvedPerson, resolvePerson } from '../../identity/resolve.ts'
import { EventLog, type GroupKeys } from '../../storage/log/event-log.ts'
import { EventRemovalList } from '../../storage/log/event-removals.ts'
import { RequestJournal } from '../../storage/log/request-journal.ts'
import { GroupStore } from '../../storage/persons/group-store.ts'
import { type PersonProperties, PersonStore } from '../../storage/persons/person-store.ts'
import type { Histogram } from '../../threads/histogram.ts'
import { US_PER_DAY } from '../../time.ts'
import { formatUuid, makeUuid } from '../../uuid.ts'
import { Counters } from '../notes/counters.ts'
import { DefinitionNoter } from '../notes/definitions.ts'
import { Warnings, type WarningType } from '../notes/warnings.ts'
import type { CaptureAnswer, CaptureLimits } from '../threads/messages.ts'
import type { PreparedEvent, PreparedRequest } from '../threads/prepared-request.ts'

/** The stores of events.db that a commit writes. */
export type IngestStores = {
  readonly log: EventLog
  readonly persons: PersonStore
  readonly groups: GroupStore
  readonly definitions: DefinitionNoter
  readonly warnings: Warnings
  readonly counters: Counters
  readonly removals: EventRemovalList
  readonly merges: MergeBudget
  readonly journal: RequestJournal
}

/** Opens the stores; `times` records how long each transaction takes. */
export function openStores(data_dir: string, times?: Histogram): IngestStores {
  const log = new EventLog(data_dir, times)
  return {
    log,
    persons: new PersonStore(log),
    groups: new GroupStore(log),
    definitions: new DefinitionNoter(log),
    warnings: new Warnings(log),
    counters: new Counters(log),
    removals: new EventRemovalList(log),
    merges: new MergeBudget(),
    journal: new RequestJournal(log.db),
  }
}

/** After a rollback: clears every cache of stored rows. */
export function clearStores(stores: IngestStores): void {
  stores.persons.forget()
  stores.groups.forget()
  stores.definitions.forget()
  stores.warnings.forget()
  stores.counters.forget()
}

/** Runs `work` in a transaction; the stores write their buffered rows before its commit. */
export function commit(stores: IngestStores, work: () => void): void {
  stores.log.transact(() => {
    work()
    stores.persons.flush()
    stores.groups.flush()
    stores.counters.flush()
  })
}

/**
 * Whether a transaction has as much to write as it may. Time alone says too little: persons, groups and pages are
 * written after the last event, which took up to twice the time of the events before.
 */
export function isFull(stores: IngestStores, limits: CaptureLimits): boolean {
  const { rows, bytes } = stores.log.written
  return rows >= limits.transaction_rows_max || bytes >= limits.transaction_bytes_max
}

/** The project and time of receipt of a request whose events are applied, in one transaction or several. */
type RequestHead = Pick<PreparedRequest, 'project_id' | 'now'> & {
  /** The time by this server's clock, µs, if another server received the request. */
  readonly stored_at?: number
}

/** Number of events applied, and of those among them that are new in the log. */
export type ApplyProgress = { readonly applied: number; readonly accepted: number }

/**
 * Applies events of a request in order, at least one, until `isOver` or until the transaction is full. After an error the transaction must be rolled back.
 */
export function applyEvents(
  stores: IngestStores,
  { project_id, now, stored_at = now }: RequestHead,
  events: readonly PreparedEvent[],
  limits: CaptureLimits,
  isOver: () => boolean,
): ApplyProgress {
  const received_day = Math.floor(stored_at / US_PER_DAY)
  const identity = {
    bytes_max: limits.person_bytes_max,
    properties_max: limits.person_properties_max,
    merges: stores.merges,
  }
  const context = { project_id, now, identity }
  let applied = 0
  let accepted = 0
  for (const event of events) {
    if (applied > 0 && (isOver() || isFull(stores, limits))) break
    applied += 1
    const uuid = event.uuid ?? makeUuid()
    if (event.uuid === null) stores.log.rememberUuid(project_id, uuid, received_day)
    else if (!stores.log.claimUuid(project_id, uuid, received_day)) continue
    applyEvent(stores, context, event, uuid)
    accepted += 1
  }
  return { applied, accepted }
}

/** Writes a request's definitions, warnings and counters after its last event, and builds its answer. */
export function finishRequest(
  stores: IngestStores,
  request: Omit<PreparedRequest, 'events'>,
  { applied, accepted }: ApplyProgress,
): CaptureAnswer {
  const { project_id, now } = request
  for (const name of request.names.events) stores.definitions.noteEvent(project_id, name, now)
  stores.definitions.noteProperties(project_id, 'event', request.names.properties, now)
  for (const warning of request.warnings) stores.warnings.add(project_id, warning, now)
  const repeated = applied - accepted
  if (accepted > 0) stores.counters.count(project_id, 'accepted', accepted)
  if (repeated > 0) stores.counters.count(project_id, 'duplicate', repeated)
  let dropped = 0
  for (const [reason, count] of request.dropped) {
    stores.counters.count(project_id, `dropped:${reason}`, count)
    dropped += count
  }
  return { kind: 'stored', accepted, dropped, repeated }
}

/** Facts common to all events of a request. */
type ApplyContext = {
  readonly project_id: number
  readonly now: number
  readonly identity: IdentityLimits
}

function applyEvent(
  stores: IngestStores,
  context: ApplyContext,
  event: PreparedEvent,
  uuid: Uint8Array,
): void {
  const { project_id, now } = context
  const person = resolvePerson(
    stores.persons,
    {
      project_id,
      distinct_id: event.distinct_id,
      id_key: event.id_key,
      timestamp: event.timestamp,
      now,
      event_uuid: uuid,
      is_personless: event.is_personless,
      update: event.update,
      merge: event.merge,
    },
    context.identity,
  )
  stores.log.append({
    project_id,
    uuid,
    event: event.event,
    distinct_id: event.distinct_id,
    person_id: person.person_id,
    person_mode: person.person_mode,
    timestamp: event.timestamp,
    created_at: now,
    properties: event.properties_text,
    elements_chain: event.elements_chain,
    groups: applyGroups(stores, context, event),
  })
  if (person.update === 'updated') notePersonProperties(stores, context, event)
  if (person.merge !== null || person.update === 'too_large') {
    noteOutcome(stores, context, { event, uuid, person })
  }
  for (const warning of event.warnings) stores.warnings.add(project_id, warning, now)
}

function applyGroups(stores: IngestStores, context: ApplyContext, event: PreparedEvent): GroupKeys {
  const { project_id } = context
  if (event.group !== null) {
    identify(stores, context, event.group, event.timestamp)
  }
  return resolveGroups(stores.groups, project_id, event.groups)
}

function identify(
  stores: IngestStores,
  context: ApplyContext,
  claim: GroupClaim,
  at: number,
): void {
  const { project_id, now, identity } = context
  const { index, is_too_large } = identifyGroup(stores.groups, project_id, claim, {
    at,
    limits: identity,
  })
  if (index === null) return
  if (!is_too_large) {
    stores.definitions.noteProperties(project_id, index, claim.set, now)
    return
  }
  const { group_type, group_key } = claim
  const key = `${index}:${group_key}`
  const warning = {
    type: 'group_properties_size_violation',
    key,
    details: { group_type, group_key },
  } as const
  stores.warnings.add(project_id, warning, now)
}

function notePersonProperties(
  stores: IngestStores,
  context: ApplyContext,
  event: PreparedEvent,
): void {
  if (event.update === null) return
  const { project_id, now } = context
  const { set, set_once, automatic } = event.update
  stores.definitions.noteProperties(project_id, 'person', set, now)
  stores.definitions.noteProperties(project_id, 'person', set_once, now)
  const examples: PersonProperties = {}
  for (const [{ set: name, initial }, value] of automaticValues(automatic)) {
    examples[name] = value
    examples[initial] = value
  }
  stores.definitions.noteProperties(project_id, 'person', examples, now)
}

const MERGE_WARNINGS: Partial<Record<MergeOutcome, WarningType>> = {
  already_identified: 'cannot_merge_already_identified',
  too_large: 'cannot_merge_large_person',
  illegal_id: 'cannot_merge_with_illegal_distinct_id',
}

function noteOutcome(
  stores: IngestStores,
  { project_id, now }: ApplyContext,
  written: {
    readonly event: PreparedEvent
    readonly uuid: Uint8Array
    readonly person: ResolvedPerson
  },
): void {
  const { event, uuid, person } = written
  if (person.merge === 'merged' || person.merge === 'joined')
    stores.counters.count(project_id, 'merged')
  const key = event.distinct_id
  const details = {
    event: event.event,
    event_uuid: formatUuid(uuid),
    distinct_id: event.distinct_id,
    other_distinct_id: event.merge?.other_id ?? '',
  }
  const type = person.merge === null ? undefined : MERGE_WARNINGS[person.merge]
  if (type !== undefined) stores.warnings.add(project_id, { type, key, details }, now)
  if (person.update === 'too_large') {
    const warning = { type: 'person_properties_size_violation', key, details } as const
    stores.warnings.add(project_id, warning, now)
  }
}
