/** Members of an organization, and invites of new ones. */
import { PageQuery } from '../../contract/common.ts'
import {
  InviteBody,
  InvitePage,
  MemberAnswer,
  MemberChange,
  MemberPage,
  NewInviteAnswer,
} from '../../contract/management/organization.ts'
import { requireLevel } from '../../projects/rights/access.ts'
import { ADMIN, MEMBER } from '../../projects/tables.ts'
import {
  changeLevel,
  createInvite,
  deleteInvite,
  getMember,
  type Invite,
  listInvites,
  listMembers,
  type Member,
  removeMember,
} from '../../projects/users/members.ts'
import { answerJson, answerNothing } from '../answers/answers.ts'
import { answerPage } from '../answers/pages.ts'
import { validatorOf } from '../bodies/shape.ts'
import { organizationRoute, pathNames } from '../route.ts'

export const MEMBER_ROUTES = [
  organizationRoute({
    method: 'GET',
    path: 'members/',
    scope: 'organization_member:read',
    summary: 'List the members of an organization.',
    query: PageQuery,
    answers: { 200: MemberPage },
    answer: (app, { request, organization }) => {
      const all = listMembers(app.control, organization.id)
      return answerPage(request, app.publicUrl(), all, memberOnWire)
    },
  }),
  organizationRoute({
    method: 'PATCH',
    path: 'members/:user_uuid/',
    scope: 'organization_member:write',
    summary: "Change a member's level: 1 member, 8 administrator, 15 owner.",
    body: validatorOf(MemberChange),
    answers: { 200: MemberAnswer },
    answer: (app, { caller, organization, level, params, body }) => {
      const uuid = pathNames(params, 'user_uuid')
      const member = getMember(app.control, organization.id, uuid)
      const actor = { user_id: caller.user_id, level }
      changeLevel(app.control, actor, member, { level: body.level, now: app.now() })
      return answerJson(memberOnWire(getMember(app.control, organization.id, uuid)))
    },
  }),
  organizationRoute({
    method: 'DELETE',
    path: 'members/:user_uuid/',
    scope: 'organization_member:write',
    summary: 'Remove a member from an organization.',
    answers: { 204: null },
    answer: (app, { caller, organization, level, params }) => {
      const member = getMember(app.control, organization.id, pathNames(params, 'user_uuid'))
      removeMember(app.control, { user_id: caller.user_id, level }, member, app.now())
      return answerNothing()
    },
  }),
  organizationRoute({
    method: 'GET',
    path: 'invites/',
    scope: 'organization_member:read',
    summary: 'List the valid invites.',
    query: PageQuery,
    answers: { 200: InvitePage },
    answer: (app, { request, organization }) => {
      const all = listInvites(app.control, organization.id, app.now())
      return answerPage(request, app.publicUrl(), all, inviteOnWire)
    },
  }),
  organizationRoute({
    method: 'POST',
    path: 'invites/',
    scope: 'organization_member:write',
    summary: 'Create an invite; its link is shown only once.',
    body: validatorOf(InviteBody),
    answers: { 201: NewInviteAnswer },
    answer: (app, { caller, organization, level, body }) => {
      const wanted = {
        organization_id: organization.id,
        target_email: body.target_email ?? null,
        first_name: body.first_name ?? '',
        level: body.level ?? MEMBER,
      }
      const actor = { user_id: caller.user_id, level }
      const { invite, token } = createInvite(app.control, actor, wanted, app.now())
      // A fragment reaches no server, and so no log.
      const link = `${app.publicUrl()}/join#${token}`
      return answerJson({ ...inviteOnWire(invite), link }, 201)
    },
  }),
  organizationRoute({
    method: 'DELETE',
    path: 'invites/:invite_id/',
    scope: 'organization_member:write',
    summary: 'Revoke an invite.',
    answers: { 204: null },
    answer: (app, { organization, level, params }) => {
      requireLevel(level, ADMIN)
      deleteInvite(app.control, organization.id, pathNames(params, 'invite_id'))
      return answerNothing()
    },
  }),
] as const

function memberOnWire({ membership, user }: Member): object {
  const { id, uuid, distinct_id, first_name, last_name, email } = user
  return {
    id: uuid,
    user: {
      id,
      uuid,
      distinct_id,
      first_name,
      last_name,
      email,
      is_email_verified: null,
      hedgehog_config: null,
    },
    level: membership.level,
    joined_at: membership.joined_at,
    updated_at: membership.joined_at,
    is_2fa_enabled: false,
    has_social_auth: false,
    last_login: null,
  }
}

function inviteOnWire(invite: Invite): object {
  const { token_hash: _hash, organization_id: _organization, created_by: _by, ...shown } = invite
  return shown
}
