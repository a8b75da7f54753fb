/** The user behind a key. */
import { Refusal } from '../errors.ts'
import {
  getVisibleProject,
  listVisibleOrganizations,
  listVisibleProjects,
} from '../projects/access.ts'
import { findUser } from '../projects/user.ts'
import { answerJson } from './answers.ts'
import { organizationOnWire } from './organizations.ts'
import { projectOnWire } from './projects.ts'
import { askerRoute } from './route.ts'

export const USER_ROUTES = [
  askerRoute({
    method: 'GET',
    path: 'users/@me/',
    scope: 'user:read',
    answer: (needs, { asker }) => {
      const user = findUser(needs.control, asker.user_id)
      if (user === null) throw new Refusal('not_found', 'Not found.')
      const { uuid, distinct_id, email, first_name, last_name, created_at } = user
      const organizations = listVisibleOrganizations(needs.control, asker)
      const [organization] = organizations
      const [project] = listVisibleProjects(needs.control, asker)
      const team = project && getVisibleProject(needs.control, asker, String(project.id))
      return answerJson({
        uuid,
        distinct_id,
        email,
        first_name,
        last_name,
        date_joined: created_at,
        organization: organization ? organizationOnWire(needs, asker, organization) : null,
        organizations: organizations.map(({ thing: { id, name, slug } }) => ({ id, name, slug })),
        team: team ? projectOnWire(needs, team.thing, team.level) : null,
      })
    },
  }),
] as const
