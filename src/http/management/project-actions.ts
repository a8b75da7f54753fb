/** What else there is about a project: who may use it, who changed it, its token, what it is used for. Interface §4.4. */
import {
  AccessBody,
  ActivityAnswer,
  ActivityQuery,
  IntentBody,
  ProjectAccessAnswer,
  ProjectActivityAnswer,
  ProjectAnswer,
  ResourceAccessAnswer,
  ResourceAccessBody,
} from '../../contract/project.ts'
import { Refusal } from '../../errors.ts'
import { type Asker, type ControlDB, requireLevel } from '../../projects/access.ts'
import {
  defaultLevel,
  EVERYBODY,
  levelOf,
  listAccessControls,
  PROJECT_LEVELS,
  PROJECT_RESOURCE,
  RESOURCE_LEVELS,
  RESOURCES,
} from '../../projects/access-controls.ts'
import { findMembership } from '../../projects/organization.ts'
import {
  addProductIntent,
  completeOnboarding,
  type WantedIntent,
} from '../../projects/product-intents.ts'
import { findProject, type Project } from '../../projects/project.ts'
import { changeAccess, resetToken } from '../../projects/project-changes.ts'
import { ADMIN, type Level } from '../../projects/tables.ts'
import { findUser, findUserByUuid } from '../../projects/user.ts'
import { answerJson } from '../answers.ts'
import type { Needs } from '../needs.ts'
import { type Call, everyProjectRoute, type OfProject } from '../route.ts'
import { shapeOf } from '../shape.ts'
import { projectActivity } from './activity.ts'
import { projectOnWire } from './projects.ts'

export const PROJECT_ACTION_ROUTES = [
  everyProjectRoute({
    method: 'GET',
    path: 'access_controls/',
    scope: 'project:read',
    says: 'Read who may use a project.',
    answers: { 200: ProjectAccessAnswer },
    answer: (needs, call) => answerJson(projectAccess(needs, call, call.project)),
  }),
  everyProjectRoute({
    method: 'PUT',
    path: 'access_controls/',
    scope: 'project:write',
    says: 'Set who may use a project: everybody, or one member.',
    body: shapeOf(AccessBody),
    answers: { 200: ProjectAccessAnswer },
    answer: (needs, call) => {
      setAccess(needs, call, { ...call.body, resource: PROJECT_RESOURCE })
      const changed = findProject(needs.control, call.project.id) ?? call.project
      return answerJson(projectAccess(needs, call, changed))
    },
  }),
  everyProjectRoute({
    method: 'GET',
    path: 'global_access_controls/',
    scope: 'project:read',
    says: 'Read who may use which of the things in a project.',
    answers: { 200: ResourceAccessAnswer },
    answer: (needs, call) => answerJson(resourceAccess(needs, call)),
  }),
  everyProjectRoute({
    method: 'PUT',
    path: 'global_access_controls/',
    scope: 'project:write',
    says: 'Set who may use one kind of thing in a project.',
    body: shapeOf(ResourceAccessBody),
    answers: { 200: ResourceAccessAnswer },
    answer: (needs, call) => {
      if (!RESOURCES.includes(call.body.resource)) {
        const detail = `${JSON.stringify(call.body.resource.slice(0, 100))} is not a valid choice.`
        throw new Refusal('invalid_choice', detail, { attr: 'resource' })
      }
      setAccess(needs, call, call.body)
      return answerJson(resourceAccess(needs, call))
    },
  }),
  everyProjectRoute({
    method: 'GET',
    path: 'activity/',
    scope: 'project:read',
    says: 'Read what was changed of a project, newest first.',
    query: ActivityQuery,
    answers: { 200: ProjectActivityAnswer },
    answer: (needs, call) => {
      const { project } = call
      const page = projectActivity(needs, call, { scope: 'Project', item_id: String(project.id) })
      return answerJson({ ...projectOnWire(needs, project, call), ...page })
    },
  }),
  everyProjectRoute({
    method: 'GET',
    path: 'activity_log/',
    scope: 'activity_log:read',
    says: 'Read what was changed of anything in a project, newest first.',
    query: ActivityQuery,
    answers: { 200: ActivityAnswer },
    answer: (needs, call) => {
      const page = projectActivity(needs, call)
      return answerJson({ ...page, count: page.total_count })
    },
  }),
  everyProjectRoute({
    method: 'PATCH',
    path: 'reset_token/',
    scope: 'project:write',
    says: 'Give a project a new token; the old one ends at once.',
    answers: { 200: ProjectAnswer },
    answer: (needs, { asker, project, level }) => {
      requireLevel(level, ADMIN)
      const changed = resetToken(needs.control, project.id, asker.user_id, needs.now())
      return answerJson(projectOnWire(needs, changed, { asker, level }))
    },
  }),
  everyProjectRoute({
    method: 'PATCH',
    path: 'add_product_intent/',
    scope: 'project:write',
    says: 'Note that a product is meant to be used.',
    body: shapeOf(IntentBody),
    answers: { 200: ProjectAnswer },
    answer: (needs, call) => answerIntent(needs, call, addProductIntent),
  }),
  everyProjectRoute({
    method: 'PATCH',
    path: 'complete_product_onboarding/',
    scope: 'project:write',
    says: 'Note that people have been shown around in a product.',
    body: shapeOf(IntentBody),
    answers: { 200: ProjectAnswer },
    answer: (needs, call) => answerIntent(needs, call, completeOnboarding),
  }),
] as const

function answerIntent(
  needs: Needs,
  { asker, project, level, body }: Call<OfProject, typeof IntentBody>,
  note: (db: ControlDB, wanted: WantedIntent, now: Date) => void,
): Response {
  const { product_type, intent_context, metadata } = body
  if (!product_type) {
    throw new Refusal('required', 'product_type is required', { attr: 'product_type' })
  }
  const wanted = {
    project_id: project.id,
    product_type,
    context: intent_context ?? 'unknown',
    metadata: (metadata ?? {}) as WantedIntent['metadata'],
  }
  const now = needs.now()
  needs.control.transaction((tx) => note(tx, wanted, now), { behavior: 'immediate' })
  const changed = findProject(needs.control, project.id) ?? project
  return answerJson(projectOnWire(needs, changed, { asker, level }))
}

type Asking = OfProject & { readonly asker: Asker }

type WantedAccess = {
  readonly resource: string
  readonly access_level: 'admin' | 'editor' | 'member' | 'none' | 'viewer' | null
  readonly organization_member?: string | null
}

function setAccess(needs: Needs, { asker, project, level }: Asking, wanted: WantedAccess): void {
  requireLevel(level, ADMIN)
  const { resource, access_level } = wanted
  const user_id = memberOf(needs.control, project, wanted.organization_member ?? null)
  const asked = { asker_id: asker.user_id, resource, user_id, access_level }
  changeAccess(needs.control, project, asked, needs.now())
}

function memberOf(db: ControlDB, project: Project, uuid: string | null): number {
  if (uuid === null) return EVERYBODY
  const user = findUserByUuid(db, uuid.toLowerCase())
  if (user && findMembership(db, project.organization_id, user.id)) return user.id
  throw new Refusal('does_not_exist', 'There is no such member in the organization.', {
    attr: 'organization_member',
  })
}

function projectAccess(needs: Needs, { asker, level }: Asking, project: Project): object {
  const set = listAccessControls(needs.control, project.id)
  const its = set.filter(({ resource }) => resource === PROJECT_RESOURCE)
  return {
    ...projectOnWire(needs, project, { asker, level }),
    access_controls: its.map((one) => accessOnWire(needs.control, one)),
    available_access_levels: PROJECT_LEVELS,
    default_access_level: defaultLevel(set, PROJECT_RESOURCE),
    user_access_level: userLevel(level, levelOf(set, PROJECT_RESOURCE, asker.user_id), 'admin'),
    user_can_edit_access_levels: level >= ADMIN,
  }
}

function resourceAccess(needs: Needs, { asker, project, level }: Asking): object {
  const set = listAccessControls(needs.control, project.id)
  const its = set.filter(({ resource }) => resource !== PROJECT_RESOURCE)
  return {
    ...projectOnWire(needs, project, { asker, level }),
    access_controls: its.map((one) => accessOnWire(needs.control, one)),
    available_access_levels: RESOURCE_LEVELS,
    available_resources: RESOURCES,
    default_access_level: 'editor',
    user_access_level: userLevel(level, leastOf(set, asker.user_id), 'editor'),
    user_can_edit_access_levels: level >= ADMIN,
  }
}

const userLevel = (level: Level, own: string, most: string): string => (level >= ADMIN ? most : own)

/** The least a member has of anything. */
function leastOf(set: ReturnType<typeof listAccessControls>, user_id: number): string {
  const held = new Set(RESOURCES.map((resource) => levelOf(set, resource, user_id)))
  return RESOURCE_LEVELS.find((level) => held.has(level)) ?? 'editor'
}

function accessOnWire(
  db: ControlDB,
  { resource, user_id, access_level, updated_at }: ReturnType<typeof listAccessControls>[number],
): object {
  const organization_member = user_id === EVERYBODY ? null : (findUser(db, user_id)?.uuid ?? null)
  return { resource, access_level, organization_member, updated_at }
}
