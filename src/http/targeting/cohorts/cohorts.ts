/** Cohorts of a project: list, create, upload, change; their persons. */

import { PageQuery } from '../../../contract/common.ts'
import {
  CalculationPage,
  CohortAnswer,
  CohortMembers,
  CohortMembersQuery,
  CohortPage,
  CohortPeople,
  CohortsQuery,
} from '../../../contract/targeting/cohorts.ts'
import { Refusal } from '../../../errors.ts'
import type { Project } from '../../../projects/settings/project.ts'
import {
  type CohortRow,
  createCohort,
  filtersOf,
  getCohort,
  readCohorts,
  updateCohort,
} from '../../../targeting/cohorts/cohort.ts'
import { listCalculations } from '../../../targeting/cohorts/cohort-history.ts'
import {
  addMemberIds,
  addMembers,
  addPersonList,
  copyMembers,
  type MemberContext,
  readMembers,
  removeMembers,
} from '../../../targeting/cohorts/cohort-members.ts'
import type { PersonList } from '../../../targeting/cohorts/persons-table.ts'
import { mapInSlices } from '../../../threads/sliced-json.ts'
import { pathOf, queryOf } from '../../addresses.ts'
import { readFilterParameters } from '../../analytics/queries/filter-parameters.ts'
import { requireShownBehaviors } from '../../analytics/queries/hidden-tables.ts'
import type { QueryCall } from '../../analytics/queries/query-context.ts'
import { answerJson, answerResults } from '../../answers/answers.ts'
import { answerPage, type PageRequest, readPage, readSearch } from '../../answers/pages.ts'
import type { AppContext } from '../../app-context.ts'
import { validatorOf } from '../../bodies/shape.ts'
import { targetingEditor } from '../../callers/editors.ts'
import { parseNumberId } from '../../path-ids.ts'
import { answerCsv, listFormat } from '../../persons/lists-as-csv.ts'
import { serializePerson } from '../../persons/person-serializer.ts'
import { findPersons, NO_PERSON_FILTERS } from '../../persons/persons.ts'
import { resource } from '../../resource.ts'
import { projectRoute } from '../../route.ts'
import type { ShownTo } from '../flags/linked-flags.ts'
import { personsInQuery } from './cohort-query.ts'
import { calculationSerializer, cohortSerializer, filterCohorts } from './cohort-serializer.ts'
import { readCohort } from './cohort-upload.ts'

const COHORT_PEOPLE = validatorOf(CohortPeople)
/** The most persons per page. */
const PAGE_MAX = 10_000

/** Routes of one cohort that only cohorts have. */
const MEMBER_ROUTES = [
  projectRoute({
    method: 'PATCH',
    path: 'cohorts/:id/',
    scope: 'cohort:write',
    summary: 'Change a cohort; an uploaded CSV adds persons to a static one.',
    answers: { 200: CohortAnswer },
    answer: async (app, call) => {
      const { params, project, caller } = call
      const { body, named } = await readCohort(app, call)
      const filters = filtersOf(body)
      const stored = getCohort(app.control, project.id, parseNumberId(params))
      if (!Bun.deepEquals(filters, stored.filters)) await requireShownBehaviors(app, call, filters)
      const { query, is_static } = body
      const is_new = (is_static ?? stored.is_static) && !Bun.deepEquals(query, stored.query)
      const found = query && is_new ? await personsInQuery(app, call, query) : []
      // Read now: others may change the cohort while a table is uploaded.
      const before = getCohort(app.control, project.id, parseNumberId(params))
      const editor = targetingEditor(app, project, caller)
      editor.narrowReaders('Cohort')
      const cohort = updateCohort(editor, before, body, app.now())
      if (found.length > 0) await addMemberIds(membersOf(app), cohort, found)
      await addLists(app, cohort, named)
      return answerJson(serializeNow(app, call, cohort))
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'cohorts/:id/persons/',
    scope: 'cohort:read',
    summary: 'List the people in a cohort, all or those that filters select.',
    query: CohortMembersQuery,
    answers: { 200: CohortMembers },
    answer: (app, call) =>
      answerMembers(app, call, getCohort(app.control, call.project.id, parseNumberId(call.params))),
  }),
  projectRoute({
    method: 'PATCH',
    path: 'cohorts/:id/add_persons_to_static_cohort/',
    scope: 'cohort:write',
    summary: 'Add persons to a static cohort.',
    answers: { 200: CohortAnswer },
    body: COHORT_PEOPLE,
    answer: async (app, { body, caller, params, project }) => {
      const cohort = getList(app, project, parseNumberId(params))
      targetingEditor(app, project, caller).narrowReaders('Cohort')
      const names = [...(body.person_ids ?? []), ...(body.distinct_ids ?? [])]
      requireNames(names, 'person_ids')
      await addMembers(membersOf(app), cohort, names)
      const now = getCohort(app.control, project.id, cohort.id)
      return answerJson(serializeNow(app, { caller, project }, now))
    },
  }),
  projectRoute({
    method: 'PATCH',
    path: 'cohorts/:id/remove_person_from_static_cohort/',
    scope: 'cohort:write',
    summary: 'Remove persons from a static cohort.',
    answers: { 200: CohortAnswer },
    body: COHORT_PEOPLE,
    answer: async (app, { body, caller, params, project }) => {
      const cohort = getList(app, project, parseNumberId(params))
      targetingEditor(app, project, caller).narrowReaders('Cohort')
      const { person_ids = [], distinct_ids = [], person_id } = body
      const names = [
        ...person_ids,
        ...distinct_ids,
        ...(person_id === undefined ? [] : [person_id]),
      ]
      requireNames(names, 'person_id')
      await removeMembers(membersOf(app), cohort, names)
      const now = getCohort(app.control, project.id, cohort.id)
      return answerJson(serializeNow(app, { caller, project }, now))
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'cohorts/:id/duplicate_as_static_cohort/',
    scope: 'cohort:write',
    summary: 'Duplicate a cohort as a static one, with its present members.',
    answers: { 200: CohortAnswer },
    answer: async (app, { params, project, caller }) => {
      const from = getCohort(app.control, project.id, parseNumberId(params))
      const name = `${from.name ?? ''} (static copy)`.trim()
      const editor = targetingEditor(app, project, caller)
      const copy = createCohort(editor, { name, is_static: true }, app.now())
      await copyMembers(membersOf(app), from, copy)
      return answerJson(serializeNow(app, { caller, project }, copy))
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'cohorts/:id/calculation_history/',
    scope: 'cohort:read',
    summary: 'List the calculations of a cohort, newest first.',
    query: PageQuery,
    answers: { 200: CalculationPage },
    answer: (app, { caller, request, params, project }) => {
      const { id } = getCohort(app.control, project.id, parseNumberId(params))
      const calculations = listCalculations(app.control, id)
      const show = calculationSerializer(app, { caller, project })
      return answerPage(request, app.publicUrl(), calculations, show)
    },
  }),
] as const

const COHORT_FAMILY = resource({
  path: 'cohorts/',
  resource: 'cohort',
  answer: CohortAnswer,
  find: (app, project, params) => getCohort(app.control, project.id, parseNumberId(params)),
  serializer: (app, to) => (cohort) => serializeNow(app, to, cohort),
  read: { summary: 'Read a cohort.' },
  more: MEMBER_ROUTES,
  activity: { summary: 'List the activity log of a cohort.', scope: 'Cohort' },
})

/** A list and a body that may be an uploaded table are declared here, what every family has by `resource`. */
export const COHORT_ROUTES = [
  projectRoute({
    method: 'GET',
    path: 'cohorts/',
    scope: 'cohort:read',
    summary: "List the project's cohorts, newest first.",
    query: CohortsQuery,
    answers: { 200: CohortPage },
    answer: async (app, { caller, request, project }) => {
      const result = filterCohorts(await readCohorts(app.control, project.id), request)
      const show = cohortSerializer(app, { caller, project })
      return answerPage(request, app.publicUrl(), result, show)
    },
  }),
  projectRoute({
    method: 'POST',
    path: 'cohorts/',
    scope: 'cohort:write',
    summary:
      'Create a cohort: from conditions, or a static one from a list, an uploaded CSV or a query.',
    answers: { 201: CohortAnswer },
    answer: async (app, call) => {
      const { project, caller } = call
      const { body, named } = await readCohort(app, call)
      const { query = null, is_static } = body
      if (query !== null && is_static !== true) {
        const detail = 'Only static cohorts can be created from a query.'
        throw new Refusal('invalid_input', detail, { attr: 'query' })
      }
      const source = findSource(app, call)
      await requireShownBehaviors(app, call, filtersOf(body))
      const result = query === null ? [] : await personsInQuery(app, call, query)
      const editor = targetingEditor(app, project, caller)
      const cohort = createCohort(editor, body, app.now())
      if (query !== null) await addMemberIds(membersOf(app), cohort, result)
      await addLists(app, cohort, named)
      if (source !== null && cohort.is_static) await copyMembers(membersOf(app), source, cohort)
      return answerJson(serializeNow(app, call, cohort), 201)
    },
  }),
  ...COHORT_FAMILY,
] as const

/** Serializes a cohort as stored now, and has it calculated where it has changed; the calculation may still run. */
function serializeNow(app: AppContext, to: ShownTo, cohort: CohortRow): object {
  if (!cohort.is_static && cohort.version !== cohort.calculated_version && !cohort.deleted) {
    void app.cohorts.look()
  }
  const now = getCohort(app.control, cohort.project_id, cohort.id)
  return cohortSerializer(app, to)(now)
}

/** The cohort whose persons a new static one takes; null without one. Refuses the filters of an older insight. */
function findSource(app: AppContext, { request, project }: QueryCall): CohortRow | null {
  const fields = new URLSearchParams(queryOf(request.url))
  if (fields.has('insight')) {
    const detail =
      'Filters of an insight are not read here. Send the persons as query, an ActorsQuery.'
    throw new Refusal('invalid_input', detail, { attr: 'insight' })
  }
  const id = fields.get('from_cohort_id')
  return id === null ? null : getCohort(app.control, project.id, Number(id))
}

/** Adds the persons of lists to a static cohort. */
async function addLists(
  app: AppContext,
  cohort: CohortRow,
  lists: readonly PersonList[],
): Promise<void> {
  if (!cohort.is_static) return
  for (const list of lists) await addPersonList(membersOf(app), cohort, list)
}

function requireNames(names: readonly string[], attr: string): void {
  if (names.length === 0) throw new Refusal('required', `${attr} is required`, { attr })
}

async function answerMembers(
  app: AppContext,
  call: QueryCall,
  cohort: CohortRow,
): Promise<Response> {
  const { request } = call
  const format = listFormat(request)
  const { offset, limit } = readPage(request, { limit_max: PAGE_MAX })
  const { items, has_more } = await findMembers(app, call, cohort, { limit, offset })
  const query = new URLSearchParams(queryOf(request.url))
  const address = (to: number): string => {
    query.set('limit', String(limit))
    query.set('offset', String(to))
    return `${app.publicUrl()}${pathOf(request.url)}?${query.toString()}`
  }
  if (format === 'csv') return answerCsv(items, ['id', 'name'])
  const head = {
    next: has_more ? address(offset + limit) : null,
    previous: offset > 0 ? address(Math.max(0, offset - limit)) : null,
  }
  return answerResults(head, items)
}

/** Finds a page of members: those that filters select by a query, all of them from the list of members. */
async function findMembers(
  app: AppContext,
  call: QueryCall,
  { id: cohort_id, project_id }: CohortRow,
  page: PageRequest,
): Promise<{ readonly items: readonly object[]; readonly has_more: boolean }> {
  const { project, request } = call
  const search = readSearch(request).trim()
  const properties = readFilterParameters(request)
  if (search !== '' || (Array.isArray(properties) ? properties.length > 0 : properties !== null)) {
    const wanted = { ...NO_PERSON_FILTERS, cohort_id, properties, search: search || null }
    return findPersons(app, call, wanted, page)
  }
  const at = { project_id, cohort_id }
  const { members, has_more } = await readMembers(app.persons, at, page)
  const items = await mapInSlices(members, (person) => serializePerson(app, project, person))
  return { items, has_more }
}

function getList(app: AppContext, project: Project, id: number): CohortRow {
  const cohort = getCohort(app.control, project.id, id)
  if (cohort.is_static) return cohort
  throw new Refusal(
    'invalid_input',
    'Persons can only be added to or removed from a static cohort.',
  )
}

function membersOf(app: AppContext): MemberContext {
  return { control: app.control, persons: app.persons, rows: app.flag_rows }
}
