/** Organizations: list, create, read, change, delete, and their activity log. */
import { PageQuery } from '../../contract/common.ts'
import {
  OrganizationAnswer,
  OrganizationBody,
  OrganizationChange,
  OrganizationPage,
} from '../../contract/management/organization.ts'
import { ActivityAnswer, ActivityLogQuery } from '../../contract/management/project.ts'
import { Refusal } from '../../errors.ts'
import {
  countMembers,
  createOrganization,
  deleteOrganization,
  type Organization,
  renameOrganization,
} from '../../projects/organization.ts'
import {
  type Caller,
  listVisibleOrganizations,
  listVisibleProjects,
  requireLevel,
  type WithLevel,
} from '../../projects/rights/access.ts'
import { listProjects } from '../../projects/settings/project.ts'
import { deleteProjectRows } from '../../projects/settings/project-rows.ts'
import { ADMIN, OWNER } from '../../projects/tables.ts'
import { runInSlices } from '../../threads/slices.ts'
import { answerJson, answerNothing } from '../answers/answers.ts'
import { answerPage } from '../answers/pages.ts'
import type { AppContext } from '../app-context.ts'
import { validatorOf } from '../bodies/shape.ts'
import { callerRoute, organizationRoute } from '../route.ts'
import { activityPage, LOG_LIMIT_DEFAULT } from './activity.ts'
import { serializeProjectListItem } from './projects.ts'

export const ORGANIZATION_ROUTES = [
  callerRoute({
    method: 'GET',
    path: 'organizations/',
    scope: 'organization:read',
    summary: 'List the organizations that the key can access.',
    query: PageQuery,
    answers: { 200: OrganizationPage },
    answer: (app, { request, caller }) => {
      const seen = listVisibleOrganizations(app.control, caller)
      return answerPage(request, app.publicUrl(), seen, (visible) =>
        serializeOrganization(app, caller, visible),
      )
    },
  }),
  callerRoute({
    method: 'POST',
    path: 'organizations/',
    scope: 'organization:write',
    summary: "Create an organization that the key's user owns.",
    body: validatorOf(OrganizationBody),
    answers: { 201: OrganizationAnswer },
    answer: (app, { caller, body }) => {
      if (caller.scoped_organizations !== null || caller.scoped_projects !== null) {
        const detail = 'API keys with scoped organizations or projects are not supported here.'
        throw new Refusal('permission_denied', detail)
      }
      const owned_max = app.organizations_max
      const wanted = { name: body.name, user_id: caller.user_id, owned_max }
      const item = createOrganization(app.control, wanted, app.now())
      return answerJson(serializeOrganization(app, caller, { item, level: OWNER }), 201)
    },
  }),
  organizationRoute({
    method: 'GET',
    path: '',
    scope: 'organization:read',
    summary: 'Read an organization; @current is the one used last.',
    answers: { 200: OrganizationAnswer },
    answer: (app, { caller, organization, level }) =>
      answerJson(serializeOrganization(app, caller, { item: organization, level })),
  }),
  organizationRoute({
    method: 'PATCH',
    path: '',
    scope: 'organization:write',
    summary: 'Rename an organization.',
    body: validatorOf(OrganizationChange),
    answers: { 200: OrganizationAnswer },
    answer: (app, { caller, organization, level, body }) => {
      requireLevel(level, ADMIN)
      const requested = { user_id: caller.user_id, name: body.name ?? organization.name }
      const item = renameOrganization(app.control, organization, requested, app.now())
      return answerJson(serializeOrganization(app, caller, { item, level }))
    },
  }),
  organizationRoute({
    method: 'DELETE',
    path: '',
    scope: 'organization:write',
    summary: 'Delete an organization with all of its projects.',
    answers: { 204: null },
    answer: async (app, { organization, level }) => {
      requireLevel(level, OWNER)
      const present = listProjects(app.control, organization.id)
      const project_ids = present.map(({ id }) => id)
      await runInSlices(deleteProjectRows(app.control, project_ids))
      const gone = deleteOrganization(app.control, organization.id, app.now())
      for (const project_id of gone) app.removeProjectData(project_id)
      return answerNothing()
    },
  }),
  organizationRoute({
    method: 'GET',
    path: 'activity_log/',
    scope: 'activity_log:read',
    summary: 'List changes to an organization, its members and their keys, newest first.',
    query: ActivityLogQuery,
    answers: { 200: ActivityAnswer },
    answer: (app, { request, caller, organization, level }) => {
      requireLevel(level, ADMIN)
      const rights = { scopes: caller.scopes, levels: null }
      const of = { organization_id: organization.id, project_id: null, rights }
      const page = activityPage(app, request, { ...of, limit_default: LOG_LIMIT_DEFAULT })
      return answerJson({ ...page, count: page.total_count })
    },
  }),
] as const

/** Members that clients read and that have the same value for every organization. */
const FIXED_MEMBERS = {
  logo_media_id: null,
  plugins_access_level: 3,
  available_product_features: [],
  customer_id: null,
  is_member_join_email_enabled: false,
  metadata: {},
}

/**
 * Serializes an organization for its caller; `teams` equals `projects`, because an environment is its project.
 */
export function serializeOrganization(
  app: AppContext,
  caller: Caller,
  { item, level }: WithLevel<Organization>,
): object {
  const projects = listVisibleProjects(app.control, caller)
    .filter((project) => project.organization_id === item.id)
    .map(serializeProjectListItem)
  return {
    ...item,
    ...FIXED_MEMBERS,
    membership_level: level,
    teams: projects,
    projects,
    member_count: countMembers(app.control, item.id),
  }
}
