/** Projects: listed and read. Interface §4.4. */
import { PROJECT_LIST_MEMBERS } from '../contract/project.ts'
import { listVisibleProjects } from '../projects/access.ts'
import type { Project } from '../projects/project.ts'
import type { Level } from '../projects/tables.ts'
import { answerJson } from './answers.ts'
import type { Needs } from './needs.ts'
import { answerPage } from './pages.ts'
import { askerRoute, organizationProjectRoute, organizationRoute, projectRoute } from './route.ts'

export const PROJECT_ROUTES = [
  organizationRoute({
    method: 'GET',
    path: 'projects/',
    scope: 'project:read',
    answer: (needs, { request, asker, organization }) => {
      const seen = listVisibleProjects(needs.control, asker)
      const its = seen.filter((project) => project.organization_id === organization.id)
      return answerPage(request, needs.publicUrl(), its.map(projectListItem))
    },
  }),
  organizationProjectRoute({
    method: 'GET',
    path: '',
    scope: 'project:read',
    answer: (needs, { project, level }) => answerJson(projectOnWire(needs, project, level)),
  }),
  askerRoute({
    method: 'GET',
    path: ['projects/', 'environments/'],
    scope: 'project:read',
    answer: (needs, { request, asker }) => {
      const seen = listVisibleProjects(needs.control, asker)
      return answerPage(request, needs.publicUrl(), seen.map(projectListItem))
    },
  }),
  projectRoute({
    method: 'GET',
    path: '',
    scope: 'project:read',
    answer: (needs, { project, level }) => answerJson(projectOnWire(needs, project, level)),
  }),
] as const

/** A project with all its members; what nothing in this server sets yet is null. */
export function projectOnWire(needs: Needs, project: Project, level: Level): object {
  const { organization_id, ...stored } = project
  return {
    ...stored,
    organization: organization_id,
    effective_membership_level: level,
    has_group_types: needs.definitions.hasGroupTypes(project.id),
    live_events_token: null,
    person_on_events_querying_enabled: true,
    default_modifiers: {},
    product_intents: [],
  }
}

/** A project as an item of a list. */
export function projectListItem(project: Project): object {
  const { organization_id, ...stored } = project
  const members = { ...stored, organization: organization_id }
  return Object.fromEntries(PROJECT_LIST_MEMBERS.map((name) => [name, members[name]]))
}
