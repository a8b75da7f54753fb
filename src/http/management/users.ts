/** The user behind a key. */
import { UserAnswer, UserChange } from '../../contract/user.ts'
import { Refusal } from '../../errors.ts'
import {
  type Asker,
  getVisibleOrganization,
  getVisibleProject,
  listVisibleOrganizations,
  listVisibleProjects,
  requireWholeUser,
} from '../../projects/access.ts'
import { parseFirstName } from '../../projects/members.ts'
import { chooseOrganization, chooseProject, findUser, renameUser } from '../../projects/user.ts'
import { answerJson } from '../answers.ts'
import type { Needs } from '../needs.ts'
import { askerRoute, type Call } from '../route.ts'
import { shapeOf } from '../shape.ts'
import { organizationOnWire } from './organizations.ts'
import { projectOnWire } from './projects.ts'

export const USER_ROUTES = [
  askerRoute({
    method: 'GET',
    path: 'users/@me/',
    scope: 'user:read',
    says: 'Read the user behind the key.',
    answers: { 200: UserAnswer },
    answer: (needs, { asker }) => answerJson(userOnWire(needs, asker)),
  }),
  askerRoute({
    method: 'PATCH',
    path: 'users/@me/',
    scope: 'user:write',
    says: "Change the user's names, and what @current means for them.",
    body: shapeOf(UserChange),
    answers: { 200: UserAnswer },
    answer: (needs, call) => {
      changeUser(needs, call)
      return answerJson(userOnWire(needs, call.asker))
    },
  }),
] as const

function changeUser(needs: Needs, { asker, body }: Call<object, typeof UserChange>): void {
  const { first_name, last_name, set_current_organization, set_current_team } = body
  // What @current means, it means for every key of the user's.
  if ((set_current_organization ?? set_current_team) !== undefined) requireWholeUser(asker)
  needs.control.transaction(
    (tx) => {
      renameUser(tx, asker.user_id, {
        ...(first_name === undefined ? {} : { first_name: parseFirstName(first_name) }),
        ...(last_name === undefined ? {} : { last_name: last_name.toWellFormed() }),
      })
      if (set_current_organization !== undefined) {
        const { thing } = getVisibleOrganization(tx, asker, set_current_organization)
        const first = listVisibleProjects(tx, asker).find(
          (project) => project.organization_id === thing.id,
        )
        const chosen = { id: thing.id, first_project_id: first?.id ?? null }
        chooseOrganization(tx, asker.user_id, chosen)
      }
      if (set_current_team !== undefined) {
        const { thing } = getVisibleProject(tx, asker, String(set_current_team))
        chooseProject(tx, asker.user_id, thing)
      }
    },
    { behavior: 'immediate' },
  )
}

function userOnWire(needs: Needs, asker: Asker): object {
  const user = findUser(needs.control, asker.user_id)
  if (user === null) throw new Refusal('not_found', 'Not found.')
  const { uuid, distinct_id, email, first_name, last_name, created_at } = user
  const organizations = listVisibleOrganizations(needs.control, asker)
  const [any_organization] = organizations
  const [any_project] = listVisibleProjects(needs.control, asker)
  const current = any_organization && getVisibleOrganization(needs.control, asker, '@current')
  const team = any_project && getVisibleProject(needs.control, asker, '@current')
  return {
    uuid,
    distinct_id,
    email,
    first_name,
    last_name,
    date_joined: created_at,
    organization: current ? organizationOnWire(needs, asker, current) : null,
    organizations: organizations.map(({ thing: { id, name, slug } }) => ({ id, name, slug })),
    team: team ? projectOnWire(needs, team.thing, { asker, level: team.level }) : null,
  }
}
