/** Organizations: listed and read. */
import {
  type Asker,
  listVisibleOrganizations,
  listVisibleProjects,
  type Visible,
} from '../projects/access.ts'
import { countMembers, type Organization } from '../projects/organization.ts'
import { answerJson } from './answers.ts'
import type { Needs } from './needs.ts'
import { answerPage } from './pages.ts'
import { projectListItem } from './projects.ts'
import { askerRoute, organizationRoute } from './route.ts'

export const ORGANIZATION_ROUTES = [
  askerRoute({
    method: 'GET',
    path: 'organizations/',
    scope: 'organization:read',
    answer: (needs, { request, asker }) => {
      const items = listVisibleOrganizations(needs.control, asker).map((visible) =>
        organizationOnWire(needs, asker, visible),
      )
      return answerPage(request, needs.publicUrl(), items)
    },
  }),
  organizationRoute({
    method: 'GET',
    path: '',
    scope: 'organization:read',
    answer: (needs, { asker, organization, level }) =>
      answerJson(organizationOnWire(needs, asker, { thing: organization, level })),
  }),
] as const

/** An organization as the asker sees it; `teams` and `projects` are the same, an environment being its project. */
export function organizationOnWire(
  needs: Needs,
  asker: Asker,
  { thing, level }: Visible<Organization>,
): object {
  const projects = listVisibleProjects(needs.control, asker)
    .filter((project) => project.organization_id === thing.id)
    .map(projectListItem)
  return {
    ...thing,
    membership_level: level,
    teams: projects,
    projects,
    member_count: countMembers(needs.control, thing.id),
  }
}
