/** Members of an organization and the invites by which others come in. */
import { PageQuery } from '../../contract/common.ts'
import {
  InviteBody,
  InvitePage,
  MemberAnswer,
  MemberChange,
  MemberPage,
  NewInviteAnswer,
} from '../../contract/organization.ts'
import { requireLevel } from '../../projects/access.ts'
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
} from '../../projects/members.ts'
import { ADMIN, MEMBER } from '../../projects/tables.ts'
import { answerJson, answerNothing } from '../answers.ts'
import { answerPage } from '../pages.ts'
import { namedIn, organizationRoute } from '../route.ts'
import { shapeOf } from '../shape.ts'

export const MEMBER_ROUTES = [
  organizationRoute({
    method: 'GET',
    path: 'members/',
    scope: 'organization_member:read',
    says: 'List the members of an organization.',
    query: PageQuery,
    answers: { 200: MemberPage },
    answer: (needs, { request, organization }) => {
      const all = listMembers(needs.control, organization.id)
      return answerPage(request, needs.publicUrl(), all, memberOnWire)
    },
  }),
  organizationRoute({
    method: 'PATCH',
    path: 'members/:user_uuid/',
    scope: 'organization_member:write',
    says: "Change a member's level: 1 member, 8 administrator, 15 owner.",
    body: shapeOf(MemberChange),
    answers: { 200: MemberAnswer },
    answer: (needs, { asker, organization, level, params, body }) => {
      const uuid = namedIn(params, 'user_uuid')
      const member = getMember(needs.control, organization.id, uuid)
      const actor = { user_id: asker.user_id, level }
      changeLevel(needs.control, actor, member, { level: body.level, now: needs.now() })
      return answerJson(memberOnWire(getMember(needs.control, organization.id, uuid)))
    },
  }),
  organizationRoute({
    method: 'DELETE',
    path: 'members/:user_uuid/',
    scope: 'organization_member:write',
    says: 'Take a member out of an organization.',
    answers: { 204: null },
    answer: (needs, { asker, organization, level, params }) => {
      const member = getMember(needs.control, organization.id, namedIn(params, 'user_uuid'))
      removeMember(needs.control, { user_id: asker.user_id, level }, member, needs.now())
      return answerNothing()
    },
  }),
  organizationRoute({
    method: 'GET',
    path: 'invites/',
    scope: 'organization_member:read',
    says: 'List the invites that are still good.',
    query: PageQuery,
    answers: { 200: InvitePage },
    answer: (needs, { request, organization }) => {
      const all = listInvites(needs.control, organization.id, needs.now())
      return answerPage(request, needs.publicUrl(), all, inviteOnWire)
    },
  }),
  organizationRoute({
    method: 'POST',
    path: 'invites/',
    scope: 'organization_member:write',
    says: 'Invite somebody; the link is told this once.',
    body: shapeOf(InviteBody),
    answers: { 201: NewInviteAnswer },
    answer: (needs, { asker, organization, level, body }) => {
      const wanted = {
        organization_id: organization.id,
        target_email: body.target_email ?? null,
        first_name: body.first_name ?? '',
        level: body.level ?? MEMBER,
      }
      const actor = { user_id: asker.user_id, level }
      const { invite, token } = createInvite(needs.control, actor, wanted, needs.now())
      const link = `${needs.publicUrl()}/api/signup/${token}/`
      return answerJson({ ...inviteOnWire(invite), link }, 201)
    },
  }),
  organizationRoute({
    method: 'DELETE',
    path: 'invites/:invite_id/',
    scope: 'organization_member:write',
    says: 'Take an invite back.',
    answers: { 204: null },
    answer: (needs, { organization, level, params }) => {
      requireLevel(level, ADMIN)
      deleteInvite(needs.control, organization.id, namedIn(params, 'invite_id'))
      return answerNothing()
    },
  }),
] as const

function memberOnWire({ membership, user }: Member): object {
  const { id, uuid, distinct_id, first_name, last_name, email } = user
  return {
    id: uuid,
    user: { id, uuid, distinct_id, first_name, last_name, email },
    level: membership.level,
    joined_at: membership.joined_at,
  }
}

function inviteOnWire(invite: Invite): object {
  const { token_hash: _hash, organization_id: _organization, created_by: _by, ...shown } = invite
  return shown
}
