/** Projects: listed, made, read, changed, deleted. Interface §4.4. */
import { listDashboards } from '../../boards/dashboard.ts'
import { PageQuery } from '../../contract/common.ts'
import {
  PROJECT_LIST_MEMBERS,
  ProjectAnswer,
  ProjectBody,
  ProjectPage,
} from '../../contract/project.ts'
import { Refusal } from '../../errors.ts'
import {
  type Asker,
  getVisibleOrganization,
  listVisibleProjects,
  requireLevel,
  requireWholeOrganization,
} from '../../projects/access.ts'
import { makeLiveToken } from '../../projects/live-token.ts'
import { listProductIntents } from '../../projects/product-intents.ts'
import type { Project } from '../../projects/project.ts'
import { addProject, changeProject, deleteProject } from '../../projects/project-changes.ts'
import type { SentFields } from '../../projects/project-fields.ts'
import { isShown, rightsAt } from '../../projects/rights.ts'
import { ADMIN, type Level } from '../../projects/tables.ts'
import { answerJson, answerNothing } from '../answers.ts'
import type { Needs } from '../needs.ts'
import { answerPage } from '../pages.ts'
import {
  askerRoute,
  type Call,
  everyProjectRoute,
  type OfProject,
  organizationRoute,
} from '../route.ts'
import { shapeOf } from '../shape.ts'

const BODY = shapeOf(ProjectBody)

/** Changing and replacing are the same: what is not sent stays as it is. */
const CHANGE_METHODS = ['PATCH', 'PUT'] as const

export const PROJECT_ROUTES = [
  organizationRoute({
    method: 'GET',
    path: 'projects/',
    scope: 'project:read',
    says: 'List the projects of an organization.',
    query: PageQuery,
    answers: { 200: ProjectPage },
    answer: (needs, { request, asker, organization }) => {
      const seen = listVisibleProjects(needs.control, asker)
      const its = seen.filter((project) => project.organization_id === organization.id)
      return answerPage(request, needs.publicUrl(), its, projectListItem)
    },
  }),
  organizationRoute({
    method: 'POST',
    path: 'projects/',
    scope: 'project:write',
    says: 'Create a project; every field may be left out.',
    body: BODY,
    answers: { 201: ProjectAnswer },
    answer: (needs, { asker, organization, level, body }) => {
      requireLevel(level, ADMIN)
      const project = makeProject(needs, { asker, body }, organization.id)
      return answerJson(projectOnWire(needs, project, { asker, level }), 201)
    },
  }),
  askerRoute({
    method: 'GET',
    path: ['projects/', 'environments/'],
    scope: 'project:read',
    says: 'List every project the key reaches.',
    query: PageQuery,
    answers: { 200: ProjectPage },
    answer: (needs, { request, asker }) => {
      const seen = listVisibleProjects(needs.control, asker)
      return answerPage(request, needs.publicUrl(), seen, projectListItem)
    },
  }),
  askerRoute({
    method: 'POST',
    path: ['projects/', 'environments/'],
    scope: 'project:write',
    says: 'Create a project in the current organization.',
    body: BODY,
    answers: { 201: ProjectAnswer },
    answer: (needs, { asker, body }) => {
      requireWholeOrganization(asker)
      const { thing, level } = getVisibleOrganization(needs.control, asker, '@current')
      requireLevel(level, ADMIN)
      const project = makeProject(needs, { asker, body }, thing.id)
      return answerJson(projectOnWire(needs, project, { asker, level }), 201)
    },
  }),
  everyProjectRoute({
    method: 'GET',
    path: '',
    scope: 'project:read',
    says: 'Read a project.',
    answers: { 200: ProjectAnswer },
    answer: (needs, { asker, project, level }) =>
      answerJson(projectOnWire(needs, project, { asker, level })),
  }),
  ...CHANGE_METHODS.map((method) =>
    everyProjectRoute({
      method,
      path: '',
      scope: 'project:write',
      says: 'Change fields of a project; the others stay.',
      body: BODY,
      answers: { 200: ProjectAnswer },
      answer: answerChange,
    }),
  ),
  everyProjectRoute({
    method: 'DELETE',
    path: '',
    scope: 'project:write',
    says: 'Delete a project: its token ends at once, its data in the background.',
    answers: { 204: null },
    answer: (needs, { asker, project, level }) => {
      requireLevel(level, ADMIN)
      deleteProject(needs.control, project, asker.user_id, needs.now())
      needs.removeProjectData(project.id)
      return answerNothing()
    },
  }),
] as const

function answerChange(needs: Needs, call: Call<OfProject, typeof ProjectBody>): Response {
  const { asker, project, level, body } = call
  if (body.access_control !== undefined && body.access_control !== project.access_control) {
    requireLevel(level, ADMIN)
  }
  const { primary_dashboard } = body
  if (typeof primary_dashboard === 'number') {
    requireDashboard(needs, project.id, primary_dashboard)
  }
  const asked = { user_id: asker.user_id, sent: sent(body) }
  const changed = changeProject(needs.control, project.id, asked, needs.now())
  return answerJson(projectOnWire(needs, changed, { asker, level }))
}

/** What people see first must be there. */
function requireDashboard(needs: Needs, project_id: number, id: number): void {
  if (listDashboards(needs.control, project_id).some((dashboard) => dashboard.id === id)) return
  const detail = `Invalid pk "${id}" - object does not exist.`
  throw new Refusal('does_not_exist', detail, { attr: 'primary_dashboard' })
}

/** What the schema has let through is JSON, as it was parsed. */
const sent = (body: object): SentFields => body as SentFields

function makeProject(
  needs: Needs,
  { asker, body }: { readonly asker: Asker; readonly body: object },
  organization_id: string,
): Project {
  const { projects_max } = needs
  const wanted = { organization_id, user_id: asker.user_id, sent: sent(body), projects_max }
  return addProject(needs.control, wanted, needs.now())
}

/** A project with all its members; what only those may read who may change it is null to others. */
export function projectOnWire(
  needs: Needs,
  project: Project,
  { asker, level }: { readonly asker: Asker; readonly level: Level },
): object {
  const { organization_id, slack_incoming_webhook, ...stored } = project
  const rights = rightsAt(needs.control, asker, { project, level })
  return {
    ...stored,
    slack_incoming_webhook: isShown(rights, 'project.slack_incoming_webhook')
      ? slack_incoming_webhook
      : null,
    organization: organization_id,
    effective_membership_level: level,
    has_group_types: needs.definitions.hasGroupTypes(project.id),
    live_events_token: makeLiveToken(needs.control, project, needs.now()),
    person_on_events_querying_enabled: true,
    default_modifiers: {},
    product_intents: listProductIntents(needs.control, project.id),
  }
}

/** A project as an item of a list. */
export function projectListItem(project: Project): object {
  const { organization_id, ...stored } = project
  const members = { ...stored, organization: organization_id }
  return Object.fromEntries(PROJECT_LIST_MEMBERS.map((name) => [name, members[name]]))
}
