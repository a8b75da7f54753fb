/** Persons: split, undo of merges, deletion. Each is recorded in the activity log. */

import {
  BulkDeleteBody,
  BulkDeleted,
  DeleteQuery,
  MergeList,
  SplitAnswer,
  SplitBody,
  UndoMergeBody,
  UndoPreviewAnswer,
} from '../../contract/persons/person-changes.ts'
import { Refusal } from '../../errors.ts'
import type { PersonAfterUndo, PersonChange, UndoPreview } from '../../identity/changes.ts'
import { isYes } from '../../insights/legacy/legacy-filters.ts'
import type { Project } from '../../projects/settings/project.ts'
import { personEventCountsTree } from '../../query/lists/events.ts'
import type { ListedPerson } from '../../targeting/shared/person-reads.ts'
import { mapInSlices } from '../../threads/sliced-json.ts'
import { US_PER_MS } from '../../time.ts'
import { formatUuid } from '../../uuid.ts'
import type { QueryCall } from '../analytics/queries/query-context.ts'
import { runTree } from '../analytics/queries/run-tree.ts'
import { answerJson } from '../answers/answers.ts'
import { queryValue } from '../answers/pages.ts'
import type { AppContext } from '../app-context.ts'
import { validatorOf } from '../bodies/shape.ts'
import { pathNames, projectRoute } from '../route.ts'
import {
  findPersonInPath,
  type PersonChangeCall,
  personIdOf,
  recordPersonChange,
} from './person-in-path.ts'
import { answerAccepted } from './person-properties.ts'
import { nameOfPerson } from './person-serializer.ts'
import { storageUnavailable } from './property-changes.ts'

/** The most persons that one call deletes. */
const BULK_MAX = 100
/** The most merges that one call lists. */
const MERGES_MAX = 1000

export const PERSON_CHANGE_ROUTES = [
  projectRoute({
    method: 'POST',
    path: 'persons/:person_id/split/',
    scope: 'person:write',
    summary:
      'Split a person into the persons it was merged from, or into one for each distinct id.',
    body: validatorOf(SplitBody),
    answers: { 201: SplitAnswer },
    answer: async (app, { caller, body, params, project }) => {
      const person = findPersonInPath(app, project, params)
      requireNoPart(body.distinct_ids_to_split)
      const main_distinct_id = body.main_distinct_id ?? null
      const change = { kind: 'split', ...nameOf(project, person), main_distinct_id } as const
      return answerParted(app, { caller, project, person }, change)
    },
  }),
  projectRoute({
    method: 'POST',
    path: 'persons/:person_id/undo_merge/',
    scope: 'person:write',
    summary: 'Undo one of the merges that made a person, the last one unless another is named.',
    body: validatorOf(UndoMergeBody),
    answers: { 201: SplitAnswer },
    answer: async (app, { caller, body, params, project }) => {
      const person = findPersonInPath(app, project, params)
      const merge_id = body.merge_id ?? null
      const change = { kind: 'undo_merge', ...nameOf(project, person), merge_id } as const
      return answerParted(app, { caller, project, person }, change)
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'persons/:person_id/merges/',
    scope: 'person:read',
    summary: 'The merges that made a person and can be undone, the last one first.',
    answers: { 200: MergeList },
    answer: async (app, { params, project }) => {
      const person = findPersonInPath(app, project, params)
      return answerJson({ results: await mergesOf(app, project, person) })
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'persons/:person_id/merges/:merge_id/',
    scope: 'person:read',
    summary: 'What undoing one of the merges that made a person would change.',
    answers: { 200: UndoPreviewAnswer },
    answer: async (app, call) => {
      const { params, project } = call
      const person = findPersonInPath(app, project, params)
      const merge_id = Number(pathNames(params, 'merge_id'))
      if (!Number.isSafeInteger(merge_id)) throw new Refusal('not_found', 'Not found.')
      const change = { ...nameOf(project, person), merge_id, is_preview: true } as const
      const outcome = await app.identity.changePerson({ kind: 'undo_merge', ...change })
      if (outcome.kind === 'previewed') return answerJson(await previewOf(app, call, outcome.undo))
      if (outcome.kind === 'unavailable') throw storageUnavailable()
      throw outcome.kind === 'too_many_later'
        ? tooManyLater()
        : new Refusal('not_found', 'Not found.')
    },
  }),
  projectRoute({
    method: 'DELETE',
    path: 'persons/:person_id/',
    scope: 'person:write',
    summary: 'Delete a person, optionally with all of its events.',
    query: DeleteQuery,
    answers: { 202: null },
    answer: async (app, { caller, params, project, request }) => {
      requireWhole(request, undefined)
      const person = findPersonInPath(app, project, params)
      const with_events = isYes(queryValue(request, 'delete_events'))
      await deletePerson(app, { caller, project, person }, with_events)
      return answerAccepted()
    },
  }),
  projectRoute({
    method: 'POST',
    path: 'persons/bulk_delete/',
    scope: 'person:write',
    summary: 'Delete up to a hundred persons, named by their ids or by distinct ids.',
    body: validatorOf(BulkDeleteBody),
    answers: { 202: BulkDeleted },
    answer: async (app, { caller, body, project, request }) => {
      requireWhole(request, body.keep_person)
      const requested = body.delete_events ?? isYes(queryValue(request, 'delete_events'))
      const persons = personsNamed(app, project, body)
      for (const person of persons) {
        await deletePerson(app, { caller, project, person }, requested)
      }
      const answer = {
        persons_found: persons.length,
        persons_deleted: persons.length,
        persons_queued_for_deletion: 0,
        events_queued_for_deletion: requested,
        recordings_queued_for_deletion: body.delete_recordings === true,
        deletion_errors: [],
      }
      return answerJson(answer, 202)
    },
  }),
] as const

/** Refuses to split single ids off, since what is split here are all of them. */
function requireNoPart(distinct_ids_to_split: unknown): void {
  if ((distinct_ids_to_split ?? null) === null) return
  const detail = 'Single ids are not split off: a split leaves main_distinct_id alone.'
  throw new Refusal('invalid_input', detail, { attr: 'distinct_ids_to_split' })
}

/** Refuses to delete events without their persons: deleting the persons too could not be undone. */
function requireWhole(request: Request, keep_person: boolean | null | undefined): void {
  if (keep_person !== true && !isYes(queryValue(request, 'keep_person'))) return
  const detail = 'Events are deleted with their persons only.'
  throw new Refusal('invalid_input', detail, { attr: 'keep_person' })
}

type NamedPersons = { readonly ids?: readonly string[]; readonly distinct_ids?: readonly string[] }

/** Returns the persons of a bulk call, each once; ids without a person are skipped, as if deleted already. */
function personsNamed(
  app: AppContext,
  project: Project,
  { ids = [], distinct_ids = [] }: NamedPersons,
): readonly ListedPerson[] {
  if (ids.length === 0 && distinct_ids.length === 0) {
    throw new Refusal('invalid_input', 'You need to specify either distinct_ids or ids')
  }
  for (const [attr, list] of [
    ['ids', ids],
    ['distinct_ids', distinct_ids],
  ] as const) {
    if (list.length <= BULK_MAX) continue
    throw new Refusal('invalid_input', `You can only pass ${BULK_MAX} ids in one call`, { attr })
  }
  const named = [
    ...ids.map((id) => personIdOf(id, 'ids')),
    ...distinct_ids.flatMap((id) => app.persons.findPerson(project.id, id)?.id ?? []),
  ]
  const once = new Map(named.map((id) => [id.toHex(), id]))
  return [...once.values()].flatMap((id) => app.persons.findPersonById(project.id, id) ?? [])
}

function nameOf(project: Project, person: ListedPerson) {
  return { project_id: project.id, person_id: person.id }
}

async function answerParted(
  app: AppContext,
  changing: PersonChangeCall,
  change: Exclude<PersonChange, { kind: 'delete' }>,
): Promise<Response> {
  const { project, person } = changing
  const before = app.persons.listDistinctIds(project.id, person.id)
  const name = nameOfPerson(app, project, person)
  const ids = await changeOrRefuse(app, change)
  const after = app.persons.listDistinctIds(project.id, person.id)
  const activity = change.kind === 'split' ? 'split_person' : 'merge_undone'
  const moved = { type: 'Person', action: 'changed', field: 'distinct_ids', before, after } as const
  if (ids.length > 1) recordPersonChange(app, changing, { activity, name, changes: [moved] })
  return answerJson({ success: true, persons: ids.map(formatUuid) }, 201)
}

async function deletePerson(
  app: AppContext,
  changing: PersonChangeCall,
  with_events: boolean,
): Promise<void> {
  const { project, person } = changing
  const name = nameOfPerson(app, project, person)
  const now = app.now().getTime() * US_PER_MS
  await changeOrRefuse(app, { kind: 'delete', ...nameOf(project, person), with_events, now })
  recordPersonChange(app, changing, { activity: 'deleted', name, changes: [] })
}

/** Applies a change and returns the resulting persons. Refuses an impossible one. */
async function changeOrRefuse(
  app: AppContext,
  change: PersonChange,
): Promise<readonly Uint8Array[]> {
  // Cached answers are dropped, since past events get another person or vanish. This is also done before the
  // change, in case the process ends between.
  app.query_service.forgetAnswers(change.project_id)
  const outcome = await app.identity.changePerson(change)
  // Persons read earlier in this turn may predate the change.
  app.persons.refresh()
  switch (outcome.kind) {
    case 'changed':
      app.query_service.forgetAnswers(change.project_id)
      return outcome.persons
    case 'not_found':
      throw new Refusal('not_found', 'Not found.')
    case 'no_such_id': {
      const detail = 'This person has no such distinct id.'
      throw new Refusal('invalid_input', detail, { attr: 'main_distinct_id' })
    }
    case 'no_such_merge': {
      const detail = 'This person has no such merge that could be undone.'
      throw new Refusal('does_not_exist', detail, { attr: 'merge_id' })
    }
    case 'unavailable':
      throw storageUnavailable()
    case 'too_many_later':
      throw tooManyLater()
    case 'previewed':
      throw new Error('a change was previewed that was meant')
    case 'too_many': {
      const detail = 'This person is too large to be split at once: undo its merges one by one.'
      throw new Refusal('invalid_input', detail)
    }
  }
}

const tooManyLater = (): Refusal =>
  new Refusal(
    'invalid_input',
    'Too many merges or distinct ids depend on this merge to undo it at once: undo later ones first.',
    { attr: 'merge_id' },
  )

/** Ids of each person that an answer has. */
const SHOWN_IDS_MAX = 100

/** Adds to a preview the events that each of the two would have. */
async function previewOf(app: AppContext, call: QueryCall, undo: UndoPreview): Promise<object> {
  const { survivor, restored, properties_lost, cohorts_lost_count } = undo
  const ids = restored.distinct_ids
  const [all, moved] =
    restored.distinct_id_count > ids.length
      ? [null, null]
      : await countEvents(app, call, survivor.id, ids)
  return {
    survivor: figuresOf(survivor, all === null ? null : all - moved),
    restored: figuresOf(restored, moved),
    properties_lost,
    cohorts_lost_count,
  }
}

const figuresOf = (person: PersonAfterUndo, event_count: number | null): object => ({
  person: formatUuid(person.id),
  distinct_ids: person.distinct_ids.slice(0, SHOWN_IDS_MAX),
  distinct_id_count: person.distinct_id_count,
  event_count,
  property_count: person.property_count,
  cohort_count: person.cohort_count,
})

/** Counts the events of a person, and those of them that are of some distinct ids. */
async function countEvents(
  app: AppContext,
  call: QueryCall,
  person_id: Uint8Array,
  ids: readonly string[],
): Promise<readonly [number, number]> {
  // A person without an id has no events.
  if (ids.length === 0) return [0, 0]
  const tree = personEventCountsTree(formatUuid(person_id), ids)
  const { rows } = await runTree(app, call, 'persons/merges', tree)
  const [[all, moved] = []] = rows
  return [Number(all), Number(moved)]
}

function mergesOf(
  app: AppContext,
  project: Project,
  person: ListedPerson,
): Promise<readonly object[]> {
  const { merges } = app.persons
  return mapInSlices(merges.list(project.id, person.id, MERGES_MAX), (merge) => ({
    id: merge.id,
    person: formatUuid(merge.into_id),
    merged_person: formatUuid(merge.other_id),
    distinct_ids: merges.listIdsFrom(project.id, person.id, merge.other_id),
    merged_at: new Date(merge.merged_at / US_PER_MS),
  }))
}
