/** Writes a request's events with their effect on persons and groups, inside one transaction (contract C1). */
import { automaticValues } from '../identity/automatic-properties.ts'
import { formatUuid } from '../identity/distinct-id.ts'
import { identifyGroup, resolveGroups } from '../identity/group.ts'
import type { MergeOutcome } from '../identity/merge.ts'
import type { UpdateOutcome } from '../identity/person.ts'
import { type ResolvedPerson, resolvePerson } from '../identity/resolve.ts'
import { EventLog, type GroupKeys } from '../storage/event-log.ts'
import { GroupStore } from '../storage/group-store.ts'
import { PersonStore, type Properties } from '../storage/person-store.ts'
import { Counters } from './counters.ts'
import { Definitions } from './definitions.ts'
import type { Job } from './job.ts'
import type { CaptureAnswer } from './messages.ts'
import type { PreparedEvent } from './pipeline.ts'
import { makeUuid } from './uuid.ts'
import { Warnings, type WarningType } from './warnings.ts'

/** Everything a commit writes to. All of it lives in events.db. */
export type Stores = {
  readonly log: EventLog
  readonly persons: PersonStore
  readonly groups: GroupStore
  readonly definitions: Definitions
  readonly warnings: Warnings
  readonly counters: Counters
}

export function openStores(data_dir: string): Stores {
  const log = new EventLog(data_dir)
  return {
    log,
    persons: new PersonStore(log),
    groups: new GroupStore(log),
    definitions: new Definitions(log),
    warnings: new Warnings(log),
    counters: new Counters(log),
  }
}

/** After a rollback: nothing in memory is to be believed. */
export function forgetStores(stores: Stores): void {
  stores.persons.forget()
  stores.groups.forget()
  stores.definitions.forget()
  stores.warnings.forget()
  stores.counters.forget()
}

/** Runs `work` and commits it, with what the stores kept back for the end of the transaction. */
export function commit(stores: Stores, work: () => void): void {
  stores.log.transact(() => {
    work()
    stores.persons.flush()
    stores.counters.flush()
  })
}

const US_PER_DAY = 86_400_000_000

/** Writes all of a request. Whatever it throws means that the transaction must not be committed. */
export function applyJob(stores: Stores, job: Job): CaptureAnswer {
  const { project, now } = job.around
  const received_day = Math.floor(now / US_PER_DAY)
  let accepted = 0
  for (const event of job.events) {
    const uuid = event.uuid ?? makeUuid()
    if (!stores.log.claimUuid(project.id, uuid, received_day)) continue
    applyEvent(stores, event, uuid)
    accepted += 1
  }
  const repeated = job.events.length - accepted
  if (accepted > 0) stores.counters.count(project.id, 'accepted', accepted)
  if (repeated > 0) stores.counters.count(project.id, 'duplicate', repeated)
  let dropped = 0
  for (const [reason, count] of job.dropped) {
    stores.counters.count(project.id, `dropped:${reason}`, count)
    dropped += count
  }
  for (const warning of job.warnings.values()) stores.warnings.add(project.id, warning, now)
  return { kind: 'stored', accepted, dropped, repeated }
}

function applyEvent(stores: Stores, event: PreparedEvent, uuid: Uint8Array): void {
  const { project, now } = event.around
  const who = resolvePerson(
    stores.persons,
    {
      project_id: project.id,
      distinct_id: event.distinct_id,
      id_key: event.id_key,
      timestamp: event.timestamp,
      event_uuid: uuid,
      is_personless: event.is_personless,
      update: event.update,
      merge: event.merge,
    },
    event.around.limits.person_bytes_max,
  )
  stores.log.append({
    project_id: project.id,
    uuid,
    event: event.event,
    distinct_id: event.distinct_id,
    person_id: who.person_id,
    person_mode: who.person_mode,
    timestamp: event.timestamp,
    created_at: now,
    properties: event.properties_text,
    elements_chain: event.elements_chain,
    groups: applyGroups(stores, event),
  })
  noteDefinitions(stores, event, who.update)
  if (who.merge !== null || who.update === 'too_large') noteOutcome(stores, { event, uuid }, who)
  for (const warning of event.warnings) stores.warnings.add(project.id, warning, now)
}

function applyGroups(stores: Stores, event: PreparedEvent): GroupKeys {
  const { project, now } = event.around
  if (event.group !== null) {
    const index = identifyGroup(stores.groups, project.id, event.group, event.timestamp)
    if (index !== null) {
      stores.definitions.noteProperties(project.id, index, event.group.set, now)
    }
  }
  return resolveGroups(stores.groups, project.id, event.groups)
}

function noteDefinitions(stores: Stores, event: PreparedEvent, outcome: UpdateOutcome): void {
  const { project, now } = event.around
  stores.definitions.noteEvent(project.id, event.event, now)
  stores.definitions.noteProperties(project.id, 'event', event.properties, now)
  if (event.update === null || outcome !== 'updated') return
  const { set, set_once, told } = event.update
  stores.definitions.noteProperties(project.id, 'person', set, now)
  stores.definitions.noteProperties(project.id, 'person', set_once, now)
  const automatic: Properties = {}
  for (const [{ set: name, initial }, value] of automaticValues(told)) {
    automatic[name] = value
    automatic[initial] = value
  }
  stores.definitions.noteProperties(project.id, 'person', automatic, now)
}

const MERGE_WARNINGS: Partial<Record<MergeOutcome, WarningType>> = {
  already_identified: 'cannot_merge_already_identified',
  illegal_id: 'cannot_merge_with_illegal_distinct_id',
}

function noteOutcome(
  stores: Stores,
  { event, uuid }: { readonly event: PreparedEvent; readonly uuid: Uint8Array },
  who: ResolvedPerson,
): void {
  const { project, now } = event.around
  if (who.merge === 'merged' || who.merge === 'joined') stores.counters.count(project.id, 'merged')
  const details = {
    event: event.event,
    event_uuid: formatUuid(uuid),
    distinct_id: event.distinct_id,
    other_distinct_id: event.merge?.other_id ?? '',
  }
  const merge_warning = who.merge === null ? undefined : MERGE_WARNINGS[who.merge]
  if (merge_warning !== undefined) {
    stores.warnings.add(project.id, { type: merge_warning, key: event.distinct_id, details }, now)
  }
  if (who.update === 'too_large') {
    const type = 'person_properties_size_violation'
    stores.warnings.add(project.id, { type, key: event.distinct_id, details }, now)
  }
}
