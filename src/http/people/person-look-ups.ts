/** What else is known of persons: the cohorts they are in, and who changed them (wire §4.8). */
import { PersonCohorts, PersonCohortsQuery } from '../../contract/person-changes.ts'
import { ActivityQuery, ItemActivityAnswer } from '../../contract/project.ts'
import { Refusal } from '../../errors.ts'
import { listCohorts } from '../../targeting/cohort.ts'
import { answerJson } from '../answers.ts'
import { projectActivity } from '../management/activity.ts'
import { queryValue } from '../pages.ts'
import { namedIn, projectRoute } from '../route.ts'
import { authorNamer } from '../targeting/authors.ts'
import { cohortOnWire } from '../targeting/cohort-wire.ts'
import { personIdOf } from './person-in-path.ts'
import { uuidText } from './person-wire.ts'

export const PERSON_LOOK_UP_ROUTES = [
  projectRoute({
    method: 'GET',
    path: 'persons/cohorts/',
    scope: 'person:read',
    says: 'The cohorts that a person is in.',
    query: PersonCohortsQuery,
    answers: { 200: PersonCohorts },
    answer: (needs, { project, request }) => {
      const asked = queryValue(request, 'person_id')
      if (asked === null || asked === '') {
        throw new Refusal('required', 'This field is required.', { attr: 'person_id' })
      }
      const id = personIdOf(asked, 'person_id')
      if (!needs.people.hasPerson(project.id, id)) throw new Refusal('not_found', 'Not found.')
      const into = new Set(needs.people.listCohortsOf(project.id, id))
      const nameAuthor = authorNamer(needs)
      const cohorts = listCohorts(needs.control, project.id).filter((one) => into.has(one.id))
      return answerJson({ results: cohorts.map((one) => cohortOnWire(one, nameAuthor)) })
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'persons/activity/',
    scope: 'activity_log:read',
    query: ActivityQuery,
    answers: { 200: ItemActivityAnswer },
    says: 'What happened to the persons of a project.',
    answer: (needs, call) => answerJson(projectActivity(needs, call, { scope: 'Person' })),
  }),
  projectRoute({
    method: 'GET',
    path: 'persons/:person_id/activity/',
    scope: 'activity_log:read',
    query: ActivityQuery,
    answers: { 200: ItemActivityAnswer },
    says: 'What happened to a person, also after it is gone.',
    answer: (needs, call) => {
      const { params } = call
      const item_id = uuidText(personIdOf(namedIn(params, 'person_id')))
      return answerJson(projectActivity(needs, call, { scope: 'Person', item_id }))
    },
  }),
] as const
