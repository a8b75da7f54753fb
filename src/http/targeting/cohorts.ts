/** Cohorts under a project: listed, made, uploaded, changed; who is in them (wire §4.10). */

import {
  CalculationPage,
  CohortAnswer,
  CohortMembers,
  CohortMembersQuery,
  CohortPage,
  CohortPeople,
  CohortsQuery,
} from '../../contract/cohorts.ts'
import { PageQuery } from '../../contract/common.ts'
import { ActivityQuery, ItemActivityAnswer } from '../../contract/project.ts'
import { Refusal } from '../../errors.ts'
import type { Project } from '../../projects/project.ts'
import {
  type Cohort,
  createCohort,
  getCohort,
  listCohorts,
  updateCohort,
} from '../../targeting/cohort.ts'
import { listCalculations } from '../../targeting/cohort-history.ts'
import {
  addMemberIds,
  addMembers,
  addNamed,
  copyMembers,
  type MemberNeeds,
  removeMembers,
} from '../../targeting/cohort-members.ts'
import { pathOf, queryOf } from '../addresses.ts'
import { answerJson } from '../answers.ts'
import { numberIn } from '../ids.ts'
import { projectActivity } from '../management/activity.ts'
import type { Needs } from '../needs.ts'
import { answerPage, pageOf } from '../pages.ts'
import { answerCsv, listFormat } from '../people/lists-as-csv.ts'
import { personOnWire } from '../people/person-wire.ts'
import { projectRoute } from '../route.ts'
import { shapeOf } from '../shape.ts'
import { peopleInQuery } from './cohort-query.ts'
import { readCohort } from './cohort-upload.ts'
import { calculationOnWire, cohortShower, narrowed } from './cohort-wire.ts'
import { editorOf } from './feature-flags.ts'

const COHORT_PEOPLE = shapeOf(CohortPeople)
/** The most people of one page. */
const PAGE_MAX = 10_000

export const COHORT_ROUTES = [
  projectRoute({
    method: 'GET',
    path: 'cohorts/',
    scope: 'cohort:read',
    says: "List the project's cohorts, newest first.",
    query: CohortsQuery,
    answers: { 200: CohortPage },
    answer: (needs, { request, project }) => {
      const found = narrowed(listCohorts(needs.control, project.id), request)
      const show = cohortShower(needs, project.id)
      return answerPage(request, needs.publicUrl(), found, show)
    },
  }),
  projectRoute({
    method: 'POST',
    path: 'cohorts/',
    scope: 'cohort:write',
    says: 'Make a cohort: conditions, or a list of people as JSON, as an uploaded table or by a question.',
    answers: { 201: CohortAnswer },
    answer: async (needs, call) => {
      const { request, project, asker } = call
      const { body, named } = await readCohort(needs, request)
      const { query = null, is_static } = body
      if (query !== null && is_static !== true) {
        const detail = 'Only static cohorts are made of a query.'
        throw new Refusal('invalid_input', detail, { attr: 'query' })
      }
      const found = query === null ? [] : await peopleInQuery(needs, call, query)
      const editor = editorOf(needs, project, asker)
      const cohort = createCohort(editor, body, needs.now())
      if (query !== null) await addMemberIds(membersOf(needs), cohort, found)
      if (named !== null && cohort.is_static) await addNamed(membersOf(needs), cohort, named)
      return answerCohort(needs, cohort, 201)
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'cohorts/:id/',
    scope: 'cohort:read',
    says: 'Read a cohort.',
    answers: { 200: CohortAnswer },
    answer: (needs, { params, project }) =>
      answerCohort(needs, getCohort(needs.control, project.id, numberIn(params))),
  }),
  projectRoute({
    method: 'PATCH',
    path: 'cohorts/:id/',
    scope: 'cohort:write',
    says: 'Change a cohort; an uploaded table adds people to a list.',
    answers: { 200: CohortAnswer },
    answer: async (needs, { request, params, project, asker }) => {
      const before = getCohort(needs.control, project.id, numberIn(params))
      const { body, named } = await readCohort(needs, request)
      const cohort = updateCohort(editorOf(needs, project, asker), before, body, needs.now())
      if (named !== null && cohort.is_static) await addNamed(membersOf(needs), cohort, named)
      return answerCohort(needs, cohort)
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'cohorts/:id/persons/',
    scope: 'cohort:read',
    says: 'List the people in a cohort.',
    query: CohortMembersQuery,
    answers: { 200: CohortMembers },
    answer: (needs, { request, params, project }) =>
      answerMembers(
        needs,
        request,
        project,
        getCohort(needs.control, project.id, numberIn(params)),
      ),
  }),
  projectRoute({
    method: 'PATCH',
    path: 'cohorts/:id/add_persons_to_static_cohort/',
    scope: 'cohort:write',
    says: 'Add people to a list.',
    answers: { 200: CohortAnswer },
    body: COHORT_PEOPLE,
    answer: async (needs, { body, params, project }) => {
      const cohort = getList(needs, project, numberIn(params))
      const names = [...(body.person_ids ?? []), ...(body.distinct_ids ?? [])]
      requireNames(names, 'person_ids')
      await addMembers(membersOf(needs), cohort, names)
      return answerCohort(needs, getCohort(needs.control, project.id, cohort.id))
    },
  }),
  projectRoute({
    method: 'PATCH',
    path: 'cohorts/:id/remove_person_from_static_cohort/',
    scope: 'cohort:write',
    says: 'Take people out of a list.',
    answers: { 200: CohortAnswer },
    body: COHORT_PEOPLE,
    answer: async (needs, { body, params, project }) => {
      const cohort = getList(needs, project, numberIn(params))
      const { person_ids = [], distinct_ids = [], person_id } = body
      const names = [
        ...person_ids,
        ...distinct_ids,
        ...(person_id === undefined ? [] : [person_id]),
      ]
      requireNames(names, 'person_id')
      await removeMembers(membersOf(needs), cohort, names)
      return answerCohort(needs, getCohort(needs.control, project.id, cohort.id))
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'cohorts/:id/duplicate_as_static_cohort/',
    scope: 'cohort:write',
    says: 'Make a list of the people who are in a cohort now.',
    answers: { 200: CohortAnswer },
    answer: async (needs, { params, project, asker }) => {
      const from = getCohort(needs.control, project.id, numberIn(params))
      const name = `${from.name ?? ''} (static copy)`.trim()
      const editor = editorOf(needs, project, asker)
      const copy = createCohort(editor, { name, is_static: true }, needs.now())
      await copyMembers(membersOf(needs), from, copy)
      return answerCohort(needs, copy)
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'cohorts/:id/calculation_history/',
    scope: 'cohort:read',
    says: 'List how a cohort was worked out, the last time first.',
    query: PageQuery,
    answers: { 200: CalculationPage },
    answer: (needs, { request, params, project }) => {
      const { id } = getCohort(needs.control, project.id, numberIn(params))
      const calculations = listCalculations(needs.control, id)
      return answerPage(request, needs.publicUrl(), calculations, calculationOnWire)
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'cohorts/:id/activity/',
    scope: 'activity_log:read',
    says: 'List what happened to a cohort.',
    query: ActivityQuery,
    answers: { 200: ItemActivityAnswer },
    answer: (needs, call) => {
      const { params, project } = call
      const item_id = String(getCohort(needs.control, project.id, numberIn(params)).id)
      return answerJson(projectActivity(needs, call, { scope: 'Cohort', item_id }))
    },
  }),
] as const

/** Answers a cohort as it is now; what has to be worked out is under way. */
function answerCohort(needs: Needs, cohort: Cohort, status = 200): Response {
  if (!cohort.is_static && cohort.version !== cohort.calculated_version && !cohort.deleted) {
    void needs.cohorts.look()
  }
  const now = getCohort(needs.control, cohort.project_id, cohort.id)
  return answerJson(cohortShower(needs, cohort.project_id)(now), status)
}

function requireNames(names: readonly string[], attr: string): void {
  if (names.length === 0) throw new Refusal('required', `${attr} is required`, { attr })
}

function answerMembers(needs: Needs, request: Request, project: Project, cohort: Cohort): Response {
  const format = listFormat(request)
  const { offset, ...asked } = pageOf(request)
  const limit = Math.min(asked.limit, PAGE_MAX)
  const at = { project_id: project.id, cohort_id: cohort.id }
  const found = needs.people.listMembers(at, limit + 1, offset)
  const query = new URLSearchParams(queryOf(request.url))
  const address = (to: number): string => {
    query.set('limit', String(limit))
    query.set('offset', String(to))
    return `${needs.publicUrl()}${pathOf(request.url)}?${query.toString()}`
  }
  const results = found.slice(0, limit).map((person) => personOnWire(needs, project, person))
  if (format === 'csv') return answerCsv(results, ['id', 'name'])
  return answerJson({
    results,
    next: found.length > limit ? address(offset + limit) : null,
    previous: offset > 0 ? address(Math.max(0, offset - limit)) : null,
  })
}

function getList(needs: Needs, project: Project, id: number): Cohort {
  const cohort = getCohort(needs.control, project.id, id)
  if (cohort.is_static) return cohort
  throw new Refusal('invalid_input', 'Can only add or remove people of a static cohort.')
}

function membersOf(needs: Needs): MemberNeeds {
  return { control: needs.control, people: needs.people, rows: needs.flag_rows }
}
