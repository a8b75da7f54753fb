/** Coming in by an invite's link: whoever has it joins, with a key of theirs or as somebody new. */
import { SignupBody } from '../../contract/organization.ts'
import { Refusal } from '../../errors.ts'
import {
  type Asker,
  type ControlDB,
  requireScope,
  requireWholeUser,
} from '../../projects/access.ts'
import { createApiKey } from '../../projects/api-key.ts'
import { acceptInvite, getInvite, type Invite, parseFirstName } from '../../projects/members.ts'
import { findOrganization } from '../../projects/organization.ts'
import { createUser, findUser, type User } from '../../projects/user.ts'
import { answerJson } from '../answers.ts'
import { readJson } from '../body.ts'
import type { Endpoint, Params } from '../endpoint.ts'
import type { Needs } from '../needs.ts'
import { answerError } from '../refusals.ts'
import { bearerOf, getAskerOf } from '../route.ts'
import { shapeOf } from '../shape.ts'

const BODY = shapeOf(SignupBody)
type Asked = Parameters<Endpoint['answer']>

const PATH = '/api/signup/:token/'

/** The endpoints that a link leads to; the link itself is the credential. */
export function signupEndpoints(needs: Needs): readonly Endpoint[] {
  const guard =
    (answer: Endpoint['answer']): Endpoint['answer'] =>
    async (request, params, socket) => {
      try {
        return await answer(request, params, socket)
      } catch (error) {
        // Not the path: it holds the link's secret.
        return answerError(error, (err) => needs.log.error({ err, path: PATH }))
      }
    }
  return [
    { method: 'GET', path: PATH, answer: guard((...asked) => answerInvite(needs, asked)) },
    { method: 'POST', path: PATH, answer: guard((...asked) => join(needs, asked)) },
  ]
}

/** Says where the link leads. */
function answerInvite(needs: Needs, asked: Asked): Response {
  const invite = requireInvite(needs, asked)
  const { target_email, first_name, level, expires_at } = invite
  const organization = organizationOf(needs.control, invite)
  return answerJson({ organization, target_email, first_name, level, expires_at })
}

async function join(needs: Needs, asked: Asked): Promise<Response> {
  const [request, params, socket] = asked
  // Before the body is read, so that nobody is asked for one without a good link.
  requireInvite(needs, asked)
  const now = needs.now()
  const asker = bearerOf(request) === null ? null : getAskerOf(needs, request, socket)
  const known = asker === null ? null : joiner(needs, asker)
  const body = known === null ? await readJson(needs.bodies, request, BODY) : null
  const joined = needs.control.transaction(
    (tx) => {
      const invite = inviteOf(needs, tx, params)
      const user = known ?? newUser(tx, body, now)
      acceptInvite(tx, invite, user, now)
      const personal_api_key = known === null ? newKey(tx, user, now) : null
      return { user, organization: organizationOf(tx, invite), personal_api_key }
    },
    { behavior: 'immediate' },
  )
  const { uuid, email, first_name } = joined.user
  return answerJson({ ...joined, user: { uuid, email, first_name } }, 201)
}

/** The user who joins by a key. Refuses keys that are for less than all of their user. */
function joiner(needs: Needs, asker: Asker): User | null {
  requireScope(asker, 'user:write')
  requireWholeUser(asker)
  return findUser(needs.control, asker.user_id)
}

function newUser(
  db: ControlDB,
  body: { readonly first_name: string; readonly email: string } | null,
  now: Date,
): User {
  if (body === null) throw new Refusal('required', 'This field is required.', { attr: 'email' })
  const first_name = parseFirstName(body.first_name)
  return createUser(db, { email: body.email, first_name }, now)
}

/** Without a key of their own nobody could do anything: the first one is told here, this once. */
function newKey(db: ControlDB, { id }: User, now: Date): string {
  const wanted = {
    user_id: id,
    label: 'First key',
    scopes: ['*'],
    organization_id: null,
    project_id: null,
  }
  return createApiKey(db, wanted, now).value
}

/** The invite that the link leads to. Refuses an unknown link, and too many of these. */
function requireInvite(needs: Needs, [request, params, socket]: Asked): Invite {
  const look = (): Invite => inviteOf(needs, needs.control, params)
  return needs.failed_keys.guard(request, socket, look)
}

function inviteOf(needs: Needs, db: ControlDB, params: Params): Invite {
  return getInvite(db, params['token'] ?? '', needs.now())
}

function organizationOf(db: ControlDB, { organization_id }: Invite): object | null {
  const organization = findOrganization(db, organization_id)
  return organization && { id: organization.id, name: organization.name }
}
