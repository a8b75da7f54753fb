/** Lookups by person: their cohorts, and their activity. */

import { ActivityQuery, ItemActivityAnswer } from '../../contract/management/project.ts'
import { PersonCohorts, PersonCohortsQuery } from '../../contract/persons/person-changes.ts'
import { Refusal } from '../../errors.ts'
import { readCohorts } from '../../targeting/cohorts/cohort.ts'
import { formatUuid } from '../../uuid.ts'
import { answerJson, answerResults } from '../answers/answers.ts'
import { queryValue } from '../answers/pages.ts'
import { authorFinder } from '../callers/authors.ts'
import { projectActivity } from '../management/activity.ts'
import { projectRoute } from '../route.ts'
import { serializeCohort } from '../targeting/cohorts/cohort-serializer.ts'
import { personIdInPath, personIdOf } from './person-in-path.ts'

export const PERSON_LOOK_UP_ROUTES = [
  projectRoute({
    method: 'GET',
    path: 'persons/cohorts/',
    scope: 'person:read',
    summary: 'The cohorts that a person is in.',
    query: PersonCohortsQuery,
    answers: { 200: PersonCohorts },
    answer: async (app, { project, request }) => {
      const requested = queryValue(request, 'person_id')
      if (requested === null || requested === '') {
        throw new Refusal('required', 'This field is required.', { attr: 'person_id' })
      }
      const id = personIdOf(requested, 'person_id')
      if (!app.persons.hasPerson(project.id, id)) throw new Refusal('not_found', 'Not found.')
      const into = new Set(app.persons.listCohortsOf(project.id, id))
      const nameAuthor = authorFinder(app)
      const cohorts = await readCohorts(app.control, project.id, into)
      return answerResults({}, cohorts, (one) => serializeCohort(one, nameAuthor))
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'persons/activity/',
    scope: 'activity_log:read',
    query: ActivityQuery,
    answers: { 200: ItemActivityAnswer },
    summary: 'List the activity log of persons.',
    answer: (app, call) => answerJson(projectActivity(app, call, { scope: 'Person' })),
  }),
  projectRoute({
    method: 'GET',
    path: 'persons/:person_id/activity/',
    scope: 'activity_log:read',
    query: ActivityQuery,
    answers: { 200: ItemActivityAnswer },
    summary: 'List the activity log of a person, also after its deletion.',
    answer: (app, call) => {
      const { params } = call
      const item_id = formatUuid(personIdInPath(params))
      return answerJson(projectActivity(app, call, { scope: 'Person', item_id }))
    },
  }),
] as const
