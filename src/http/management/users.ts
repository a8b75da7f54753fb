/** The user of a key. */
import { PageQuery } from '../../contract/common.ts'
import { UserAnswer, UserChange, UserPage } from '../../contract/management/user.ts'
import { Refusal } from '../../errors.ts'
import {
  type Caller,
  getVisibleOrganization,
  getVisibleProject,
  listVisibleOrganizations,
  listVisibleProjects,
  requireWholeUser,
} from '../../projects/rights/access.ts'
import { parseFirstName } from '../../projects/users/members.ts'
import { findLoginEmail } from '../../projects/users/passwords.ts'
import {
  chooseOrganization,
  chooseProject,
  findUser,
  renameUser,
  type User,
} from '../../projects/users/user.ts'
import { answerJson } from '../answers/answers.ts'
import { answerPage } from '../answers/pages.ts'
import type { AppContext } from '../app-context.ts'
import { validatorOf } from '../bodies/shape.ts'
import { callerRoute, pathNames, type RouteCall } from '../route.ts'
import { serializeOrganization } from './organizations.ts'
import { serializeProject } from './projects.ts'

export const USER_ROUTES = [
  callerRoute({
    method: 'GET',
    path: 'users/@me/',
    scope: 'user:read',
    summary: 'Read the user behind the key.',
    answers: { 200: UserAnswer },
    answer: (app, { caller }) => answerJson(userOnWire(app, caller)),
  }),
  callerRoute({
    method: 'PATCH',
    path: 'users/@me/',
    scope: 'user:write',
    summary: "Change the user's names, and what @current means for them.",
    body: validatorOf(UserChange),
    answers: { 200: UserAnswer },
    answer: (app, call) => {
      changeUser(app, call)
      return answerJson(userOnWire(app, call.caller))
    },
  }),
  callerRoute({
    method: 'GET',
    path: 'users/',
    scope: 'user:read',
    summary: 'List users: the one behind the key. Others are members of its organizations.',
    query: PageQuery,
    answers: { 200: UserPage },
    answer: (app, { caller, request }) =>
      answerPage(request, app.publicUrl(), [userOnWire(app, caller)]),
  }),
  callerRoute({
    method: 'GET',
    path: 'users/:user_uuid/',
    scope: 'user:read',
    summary: 'Read the user behind the key, by its UUID.',
    answers: { 200: UserAnswer },
    answer: (app, { caller, params }) => {
      const { uuid } = getUser(app, caller)
      if (pathNames(params, 'user_uuid') === uuid) return answerJson(userOnWire(app, caller))
      throw new Refusal('not_found', 'Not found.')
    },
  }),
] as const

function changeUser(app: AppContext, { caller, body }: RouteCall<object, typeof UserChange>): void {
  const { first_name, last_name, set_current_organization, set_current_team } = body
  // `@current` is shared by all keys of the user, so a limited key must not change it.
  if ((set_current_organization ?? set_current_team) !== undefined) requireWholeUser(caller)
  app.control.transaction(
    (tx) => {
      renameUser(tx, caller.user_id, {
        ...(first_name === undefined ? {} : { first_name: parseFirstName(first_name) }),
        ...(last_name === undefined ? {} : { last_name: last_name.toWellFormed() }),
      })
      if (set_current_organization !== undefined) {
        const { item } = getVisibleOrganization(tx, caller, set_current_organization)
        const first = listVisibleProjects(tx, caller).find(
          (project) => project.organization_id === item.id,
        )
        const chosen = { id: item.id, first_project_id: first?.id ?? null }
        chooseOrganization(tx, caller.user_id, chosen)
      }
      if (set_current_team !== undefined) {
        const { item } = getVisibleProject(tx, caller, String(set_current_team))
        chooseProject(tx, caller.user_id, item)
      }
    },
    { behavior: 'immediate' },
  )
}

function getUser(app: AppContext, caller: Caller): User {
  const user = findUser(app.control, caller.user_id)
  if (user === null) throw new Refusal('not_found', 'Not found.')
  return user
}

function userOnWire(app: AppContext, caller: Caller): object {
  const user = getUser(app, caller)
  const { id, uuid, distinct_id, email, first_name, last_name, created_at } = user
  const organizations = listVisibleOrganizations(app.control, caller)
  const [any_organization] = organizations
  const [any_project] = listVisibleProjects(app.control, caller)
  const current = any_organization && getVisibleOrganization(app.control, caller, '@current')
  const team = any_project && getVisibleProject(app.control, caller, '@current')
  return {
    id,
    uuid,
    distinct_id,
    email,
    first_name,
    last_name,
    date_joined: created_at,
    is_email_verified: null,
    has_password: findLoginEmail(app.control, id) !== null,
    is_staff: false,
    notification_settings: {},
    theme_mode: null,
    organization: current ? serializeOrganization(app, caller, current) : null,
    organizations: organizations.map(({ item }) => {
      return { id: item.id, name: item.name, slug: item.slug }
    }),
    team: team ? serializeProject(app, team.item, { caller, level: team.level }) : null,
  }
}
