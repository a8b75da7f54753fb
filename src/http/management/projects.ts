/** Projects: list, create, read, change, delete. */

import { PageQuery } from '../../contract/common.ts'
import {
  PROJECT_LIST_MEMBERS,
  ProjectAnswer,
  ProjectBody,
  ProjectPage,
} from '../../contract/management/project.ts'
import { requirePresent } from '../../dashboards/board-editor.ts'
import { getDashboard } from '../../dashboards/dashboard.ts'
import { narrowReaders } from '../../dashboards/readers.ts'
import { getNamed, unknownId } from '../../errors.ts'
import { makeLiveToken } from '../../projects/keys/live-token.ts'
import {
  type Caller,
  getVisibleOrganization,
  listVisibleProjects,
  requireLevel,
  requireWholeOrganization,
} from '../../projects/rights/access.ts'
import { isShown, rightsAt } from '../../projects/rights/rights.ts'
import { listProductIntents } from '../../projects/settings/product-intents.ts'
import type { Project } from '../../projects/settings/project.ts'
import {
  addProject,
  changeProject,
  deleteProject,
} from '../../projects/settings/project-changes.ts'
import type { SentFields } from '../../projects/settings/project-fields.ts'
import { deleteProjectRows } from '../../projects/settings/project-rows.ts'
import { ADMIN, type MemberLevel } from '../../projects/tables.ts'
import { runInSlices } from '../../threads/slices.ts'
import { answerJson, answerNothing } from '../answers/answers.ts'
import { answerPage } from '../answers/pages.ts'
import type { AppContext } from '../app-context.ts'
import { validatorOf } from '../bodies/shape.ts'
import { boardEditor } from '../callers/editors.ts'
import {
  callerRoute,
  everyProjectRoute,
  type OfProject,
  organizationRoute,
  type RouteCall,
} from '../route.ts'

const BODY = validatorOf(ProjectBody)

export const PROJECT_ROUTES = [
  organizationRoute({
    method: 'GET',
    path: 'projects/',
    scope: 'project:read',
    summary: 'List the projects of an organization.',
    query: PageQuery,
    answers: { 200: ProjectPage },
    answer: (app, { request, caller, organization }) => {
      const seen = listVisibleProjects(app.control, caller)
      const its = seen.filter((project) => project.organization_id === organization.id)
      return answerPage(request, app.publicUrl(), its, serializeProjectListItem)
    },
  }),
  organizationRoute({
    method: 'POST',
    path: 'projects/',
    scope: 'project:write',
    summary: 'Create a project; all fields are optional.',
    body: BODY,
    answers: { 201: ProjectAnswer },
    answer: (app, { caller, organization, level, body }) => {
      requireLevel(level, ADMIN)
      const project = makeProject(app, { caller, body }, organization.id)
      return answerJson(serializeProject(app, project, { caller, level }), 201)
    },
  }),
  callerRoute({
    method: 'GET',
    path: ['projects/', 'environments/'],
    scope: 'project:read',
    summary: 'List the projects that the key can access.',
    query: PageQuery,
    answers: { 200: ProjectPage },
    answer: (app, { request, caller }) => {
      const seen = listVisibleProjects(app.control, caller)
      return answerPage(request, app.publicUrl(), seen, serializeProjectListItem)
    },
  }),
  callerRoute({
    method: 'POST',
    path: ['projects/', 'environments/'],
    scope: 'project:write',
    summary: 'Create a project in the current organization.',
    body: BODY,
    answers: { 201: ProjectAnswer },
    answer: (app, { caller, body }) => {
      requireWholeOrganization(caller)
      const { item, level } = getVisibleOrganization(app.control, caller, '@current')
      requireLevel(level, ADMIN)
      const project = makeProject(app, { caller, body }, item.id)
      return answerJson(serializeProject(app, project, { caller, level }), 201)
    },
  }),
  everyProjectRoute({
    method: 'GET',
    path: '',
    scope: 'project:read',
    summary: 'Read a project.',
    answers: { 200: ProjectAnswer },
    answer: (app, { caller, project, level }) =>
      answerJson(serializeProject(app, project, { caller, level })),
  }),
  everyProjectRoute({
    method: 'PATCH',
    path: '',
    scope: 'project:write',
    summary: 'Change fields of a project.',
    body: BODY,
    answers: { 200: ProjectAnswer },
    answer: answerChange,
  }),
  everyProjectRoute({
    method: 'DELETE',
    path: '',
    scope: 'project:write',
    summary:
      'Delete a project: its token stops working at once, its data is deleted in the background.',
    answers: { 204: null },
    answer: async (app, { caller, project, level }) => {
      requireLevel(level, ADMIN)
      await runInSlices(deleteProjectRows(app.control, [project.id]))
      deleteProject(app.control, project, caller.user_id, app.now())
      app.removeProjectData(project.id)
      return answerNothing()
    },
  }),
] as const

function answerChange(app: AppContext, call: RouteCall<OfProject, typeof ProjectBody>): Response {
  const { caller, project, level, body } = call
  if (body.access_control !== undefined && body.access_control !== project.access_control) {
    requireLevel(level, ADMIN)
  }
  const { primary_dashboard } = body
  if (typeof primary_dashboard === 'number') {
    const get = () => requirePresent(getDashboard(app.control, project.id, primary_dashboard))
    getNamed(get, 'primary_dashboard', unknownId(primary_dashboard))
  }
  if (body.test_account_filters !== undefined) {
    narrowReaders(boardEditor(app, project, caller), 'Project')
  }
  const change_request = { user_id: caller.user_id, sent: sentFields(body) }
  const changed = changeProject(app.control, project.id, change_request, app.now())
  return answerJson(serializeProject(app, changed, { caller, level }))
}

/** The schema validated the body, so it is JSON as parsed. */
const sentFields = (body: object): SentFields => body as SentFields

function makeProject(
  app: AppContext,
  { caller, body }: { readonly caller: Caller; readonly body: object },
  organization_id: string,
): Project {
  const { projects_max } = app
  const wanted = { organization_id, user_id: caller.user_id, sent: sentFields(body), projects_max }
  return addProject(app.control, wanted, app.now())
}

/** Serializes a project with all its members; those that need project:write are null to other callers. */
export function serializeProject(
  app: AppContext,
  project: Project,
  { caller, level }: { readonly caller: Caller; readonly level: MemberLevel },
): object {
  const { organization_id, slack_incoming_webhook, ...stored } = project
  const rights = rightsAt(app.control, caller, { project, level })
  return {
    ...stored,
    slack_incoming_webhook: isShown(rights, 'project.slack_incoming_webhook')
      ? slack_incoming_webhook
      : null,
    organization: organization_id,
    effective_membership_level: level,
    has_group_types: app.definitions.groupTypes(project.id).size > 0,
    live_events_token: makeLiveToken(app.control, project, app.now()),
    person_on_events_querying_enabled: true,
    default_modifiers: {},
    product_intents: listProductIntents(app.control, project.id),
  }
}

/** Serializes a project as an item of a list. */
export function serializeProjectListItem(project: Project): object {
  const { organization_id, ...stored } = project
  const members = { ...stored, organization: organization_id }
  return Object.fromEntries(PROJECT_LIST_MEMBERS.map((name) => [name, members[name]]))
}
