/** Organizations: listed, made, read, changed, deleted, and what was changed of them. */
import { PageQuery } from '../../contract/common.ts'
import {
  OrganizationAnswer,
  OrganizationBody,
  OrganizationChange,
  OrganizationPage,
} from '../../contract/organization.ts'
import { ActivityAnswer, ActivityQuery } from '../../contract/project.ts'
import { Refusal } from '../../errors.ts'
import {
  type Asker,
  listVisibleOrganizations,
  listVisibleProjects,
  requireLevel,
  type Visible,
} from '../../projects/access.ts'
import {
  countMembers,
  createOrganization,
  deleteOrganization,
  type Organization,
  renameOrganization,
} from '../../projects/organization.ts'
import { ADMIN, OWNER } from '../../projects/tables.ts'
import { answerJson, answerNothing } from '../answers.ts'
import type { Needs } from '../needs.ts'
import { answerPage } from '../pages.ts'
import { askerRoute, organizationRoute } from '../route.ts'
import { shapeOf } from '../shape.ts'
import { activityPage } from './activity.ts'
import { projectListItem } from './projects.ts'

const CHANGE_METHODS = ['PATCH', 'PUT'] as const
const CHANGE = shapeOf(OrganizationChange)

export const ORGANIZATION_ROUTES = [
  askerRoute({
    method: 'GET',
    path: 'organizations/',
    scope: 'organization:read',
    says: 'List the organizations the key reaches.',
    query: PageQuery,
    answers: { 200: OrganizationPage },
    answer: (needs, { request, asker }) => {
      const seen = listVisibleOrganizations(needs.control, asker)
      return answerPage(request, needs.publicUrl(), seen, (visible) =>
        organizationOnWire(needs, asker, visible),
      )
    },
  }),
  askerRoute({
    method: 'POST',
    path: 'organizations/',
    scope: 'organization:write',
    says: "Create an organization that the key's user owns.",
    body: shapeOf(OrganizationBody),
    answers: { 201: OrganizationAnswer },
    answer: (needs, { asker, body }) => {
      if (asker.scoped_organizations !== null || asker.scoped_projects !== null) {
        const detail = 'API keys with scoped organizations or projects are not supported here.'
        throw new Refusal('permission_denied', detail)
      }
      const owned_max = needs.organizations_max
      const wanted = { name: body.name, user_id: asker.user_id, owned_max }
      const thing = createOrganization(needs.control, wanted, needs.now())
      return answerJson(organizationOnWire(needs, asker, { thing, level: OWNER }), 201)
    },
  }),
  organizationRoute({
    method: 'GET',
    path: '',
    scope: 'organization:read',
    says: 'Read an organization; @current is the one worked on last.',
    answers: { 200: OrganizationAnswer },
    answer: (needs, { asker, organization, level }) =>
      answerJson(organizationOnWire(needs, asker, { thing: organization, level })),
  }),
  ...CHANGE_METHODS.map((method) =>
    organizationRoute({
      method,
      path: '',
      scope: 'organization:write',
      says: 'Rename an organization.',
      body: CHANGE,
      answers: { 200: OrganizationAnswer },
      answer: (needs, { asker, organization, level, body }) => {
        requireLevel(level, ADMIN)
        const asked = { user_id: asker.user_id, name: body.name ?? organization.name }
        const thing = renameOrganization(needs.control, organization, asked, needs.now())
        return answerJson(organizationOnWire(needs, asker, { thing, level }))
      },
    }),
  ),
  organizationRoute({
    method: 'DELETE',
    path: '',
    scope: 'organization:write',
    says: 'Delete an organization with all of its projects.',
    answers: { 204: null },
    answer: (needs, { organization, level }) => {
      requireLevel(level, OWNER)
      const gone = deleteOrganization(needs.control, organization.id, needs.now())
      for (const project_id of gone) needs.removeProjectData(project_id)
      return answerNothing()
    },
  }),
  organizationRoute({
    method: 'GET',
    path: 'activity_log/',
    scope: 'activity_log:read',
    says: 'Read what was changed of an organization, its members and their keys, newest first.',
    query: ActivityQuery,
    answers: { 200: ActivityAnswer },
    answer: (needs, { request, asker, organization, level }) => {
      requireLevel(level, ADMIN)
      const rights = { scopes: asker.scopes, levels: null }
      const about = { organization_id: organization.id, project_id: null, rights }
      const page = activityPage(needs, request, about)
      return answerJson({ ...page, count: page.total_count })
    },
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
