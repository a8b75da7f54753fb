/** Single actions on a project: access levels, activity, token, product intents. */
import {
  AccessBody,
  ActivityAnswer,
  ActivityLogQuery,
  ActivityQuery,
  IntentBody,
  ProjectAccessAnswer,
  ProjectActivityAnswer,
  ProjectAnswer,
  ResourceAccessAnswer,
  ResourceAccessBody,
} from '../../contract/management/project.ts'
import { Refusal } from '../../errors.ts'
import { findMembership } from '../../projects/organization.ts'
import { type Caller, type ControlDB, requireLevel } from '../../projects/rights/access.ts'
import {
  defaultLevel,
  EVERYBODY,
  levelOf,
  listAccessControls,
  PROJECT_LEVELS,
  PROJECT_RESOURCE,
  RESOURCE_LEVELS,
  RESOURCES,
} from '../../projects/rights/access-controls.ts'
import {
  addProductIntent,
  completeOnboarding,
  type IntentRequest,
} from '../../projects/settings/product-intents.ts'
import { findProject, type Project } from '../../projects/settings/project.ts'
import { changeAccess, resetToken } from '../../projects/settings/project-changes.ts'
import { ADMIN, type MemberLevel } from '../../projects/tables.ts'
import { findUser, findUserByUuid } from '../../projects/users/user.ts'
import { answerJson } from '../answers/answers.ts'
import type { AppContext } from '../app-context.ts'
import { validatorOf } from '../bodies/shape.ts'
import { everyProjectRoute, type OfProject, type RouteCall } from '../route.ts'
import { LOG_LIMIT_DEFAULT, projectActivity } from './activity.ts'
import { serializeProject } from './projects.ts'

export const PROJECT_ACTION_ROUTES = [
  everyProjectRoute({
    method: 'GET',
    path: 'access_controls/',
    scope: 'project:read',
    summary: 'Read who may use a project.',
    answers: { 200: ProjectAccessAnswer },
    answer: (app, call) => answerJson(projectAccess(app, call, call.project)),
  }),
  everyProjectRoute({
    method: 'PUT',
    path: 'access_controls/',
    scope: 'project:write',
    summary: 'Set who may use a project: all members, or one of them.',
    body: validatorOf(AccessBody),
    answers: { 200: ProjectAccessAnswer },
    answer: (app, call) => {
      setAccess(app, call, { ...call.body, resource: PROJECT_RESOURCE })
      const changed = findProject(app.control, call.project.id) ?? call.project
      return answerJson(projectAccess(app, call, changed))
    },
  }),
  everyProjectRoute({
    method: 'GET',
    path: 'global_access_controls/',
    scope: 'project:read',
    summary: 'Read the access levels for each kind of resource in a project.',
    answers: { 200: ResourceAccessAnswer },
    answer: (app, call) => answerJson(resourceAccess(app, call)),
  }),
  everyProjectRoute({
    method: 'PUT',
    path: 'global_access_controls/',
    scope: 'project:write',
    summary: 'Set the access level for one kind of resource in a project.',
    body: validatorOf(ResourceAccessBody),
    answers: { 200: ResourceAccessAnswer },
    answer: (app, call) => {
      if (!RESOURCES.includes(call.body.resource)) {
        const detail = `${JSON.stringify(call.body.resource.slice(0, 100))} is not a valid choice.`
        throw new Refusal('invalid_choice', detail, { attr: 'resource' })
      }
      setAccess(app, call, call.body)
      return answerJson(resourceAccess(app, call))
    },
  }),
  everyProjectRoute({
    method: 'GET',
    path: 'activity/',
    scope: 'project:read',
    summary: 'List changes to a project, newest first.',
    query: ActivityQuery,
    answers: { 200: ProjectActivityAnswer },
    answer: (app, call) => {
      const { project } = call
      const page = projectActivity(app, call, { scope: 'Project', item_id: String(project.id) })
      return answerJson({ ...serializeProject(app, project, call), ...page })
    },
  }),
  everyProjectRoute({
    method: 'GET',
    path: 'activity_log/',
    scope: 'activity_log:read',
    summary: 'List changes to anything in a project, newest first.',
    query: ActivityLogQuery,
    answers: { 200: ActivityAnswer },
    answer: (app, call) => {
      const page = projectActivity(app, call, { limit_default: LOG_LIMIT_DEFAULT })
      return answerJson({ ...page, count: page.total_count })
    },
  }),
  everyProjectRoute({
    method: 'PATCH',
    path: 'reset_token/',
    scope: 'project:write',
    summary: 'Give a project a new token; the old one stops working at once.',
    answers: { 200: ProjectAnswer },
    answer: (app, { caller, project, level }) => {
      requireLevel(level, ADMIN)
      const changed = resetToken(app.control, project.id, caller.user_id, app.now())
      return answerJson(serializeProject(app, changed, { caller, level }))
    },
  }),
  everyProjectRoute({
    method: 'PATCH',
    path: 'add_product_intent/',
    scope: 'project:write',
    summary: 'Record the intent to use a product.',
    body: validatorOf(IntentBody),
    answers: { 200: ProjectAnswer },
    answer: (app, call) => answerIntent(app, call, addProductIntent),
  }),
  everyProjectRoute({
    method: 'PATCH',
    path: 'complete_product_onboarding/',
    scope: 'project:write',
    summary: 'Record that the onboarding of a product is complete.',
    body: validatorOf(IntentBody),
    answers: { 200: ProjectAnswer },
    answer: (app, call) => answerIntent(app, call, completeOnboarding),
  }),
] as const

function answerIntent(
  app: AppContext,
  { caller, project, level, body }: RouteCall<OfProject, typeof IntentBody>,
  note: (db: ControlDB, request: IntentRequest, now: Date) => void,
): Response {
  const { product_type, intent_context, metadata } = body
  // The interface lists only fields of the project for this body, each optional: without a product nothing is noted.
  if (!product_type) return answerJson(serializeProject(app, project, { caller, level }))
  const wanted = {
    project_id: project.id,
    product_type,
    context: intent_context ?? 'unknown',
    metadata: (metadata ?? {}) as IntentRequest['metadata'],
  }
  const now = app.now()
  app.control.transaction((tx) => note(tx, wanted, now), { behavior: 'immediate' })
  const changed = findProject(app.control, project.id) ?? project
  return answerJson(serializeProject(app, changed, { caller, level }))
}

type ProjectActionCall = OfProject & { readonly caller: Caller }

type AccessChange = {
  readonly resource: string
  readonly access_level: 'admin' | 'editor' | 'member' | 'none' | 'viewer' | null
  readonly organization_member?: string | null
}

function setAccess(
  app: AppContext,
  { caller, project, level }: ProjectActionCall,
  request: AccessChange,
): void {
  requireLevel(level, ADMIN)
  const { resource, access_level } = request
  const user_id = memberOf(app.control, project, request.organization_member ?? null)
  const requested = { changed_by: caller.user_id, resource, user_id, access_level }
  changeAccess(app.control, project, requested, app.now())
}

function memberOf(db: ControlDB, project: Project, uuid: string | null): number {
  if (uuid === null) return EVERYBODY
  const user = findUserByUuid(db, uuid.toLowerCase())
  if (user && findMembership(db, project.organization_id, user.id)) return user.id
  throw new Refusal('does_not_exist', 'There is no such member in the organization.', {
    attr: 'organization_member',
  })
}

function projectAccess(
  app: AppContext,
  { caller, level }: ProjectActionCall,
  project: Project,
): object {
  const set = listAccessControls(app.control, project.id)
  const its = set.filter(({ resource }) => resource === PROJECT_RESOURCE)
  return {
    ...serializeProject(app, project, { caller, level }),
    access_controls: its.map((one) => accessOnWire(app.control, one)),
    available_access_levels: PROJECT_LEVELS,
    default_access_level: defaultLevel(set, PROJECT_RESOURCE),
    user_access_level: userLevel(level, levelOf(set, PROJECT_RESOURCE, caller.user_id), 'admin'),
    user_can_edit_access_levels: level >= ADMIN,
  }
}

function resourceAccess(app: AppContext, { caller, project, level }: ProjectActionCall): object {
  const set = listAccessControls(app.control, project.id)
  const its = set.filter(({ resource }) => resource !== PROJECT_RESOURCE)
  return {
    ...serializeProject(app, project, { caller, level }),
    access_controls: its.map((one) => accessOnWire(app.control, one)),
    available_access_levels: RESOURCE_LEVELS,
    available_resources: RESOURCES,
    default_access_level: 'editor',
    user_access_level: userLevel(level, leastOf(set, caller.user_id), 'editor'),
    user_can_edit_access_levels: level >= ADMIN,
  }
}

const userLevel = (level: MemberLevel, own: string, most: string): string =>
  level >= ADMIN ? most : own

/** The least level that a member has on any resource. */
function leastOf(set: ReturnType<typeof listAccessControls>, user_id: number): string {
  const levels = new Set(RESOURCES.map((resource) => levelOf(set, resource, user_id)))
  return RESOURCE_LEVELS.find((level) => levels.has(level)) ?? 'editor'
}

function accessOnWire(
  db: ControlDB,
  { resource, user_id, access_level, updated_at }: ReturnType<typeof listAccessControls>[number],
): object {
  const organization_member = user_id === EVERYBODY ? null : (findUser(db, user_id)?.uuid ?? null)
  return { resource, access_level, organization_member, updated_at }
}
