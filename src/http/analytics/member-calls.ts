/** Calls that no request makes: public links, alerts and subscriptions read with the rights of the member who made them. */

import { type Caller, type ControlDB, getVisibleProject } from '../../projects/rights/access.ts'
import type { Scopes } from '../../projects/rights/scopes.ts'
import type { AppContext } from '../app-context.ts'
import type { QueryCall, QueryCaller } from './queries/query-context.ts'

type ActingMember = {
  /** The name under which calls are limited. */
  readonly id: string
  readonly user_id: number
  /** An upper bound of its scopes; it never has more than the member's rights. */
  readonly scopes: Scopes
}

/** Returns the caller for a member in a project. Refuses (`not_found`) once the member does not see the project any more. */
export function actForMember(
  control: ControlDB,
  member: ActingMember,
  project_id: number,
): QueryCaller {
  const caller: Caller = {
    ...member,
    scoped_organizations: null,
    scoped_projects: [project_id],
    expires_at: null,
  }
  const { item: project, level } = getVisibleProject(control, caller, String(project_id))
  return { caller, project, level }
}

/** The scopes of links, alerts and subscriptions. */
export const READ_SCOPES: Scopes = ['dashboard:read', 'insight:read', 'query:read']

/** Returns a call that computes insights for a member in the background, until `signal`. Refuses as `actForMember` does. */
export function backgroundCall(
  app: Pick<AppContext, 'control' | 'publicUrl'>,
  { id, user_id, project_id }: Omit<ActingMember, 'scopes'> & { readonly project_id: number },
  signal: AbortSignal | null = null,
): QueryCall {
  const member = actForMember(app.control, { id, user_id, scopes: READ_SCOPES }, project_id)
  return { ...member, request: new Request(app.publicUrl(), { signal }), socket: null }
}
