/** The organization of the current project, and the user's level in it. */
import { useProject } from '../../state/project.tsx'
import { useSession } from '../../state/session.ts'

const ADMIN = 8

export type CurrentOrganization = {
  readonly id: string
  readonly name: string
  /** The user's own level, which bounds the levels that the user may give. */
  readonly level: number
  readonly is_admin: boolean
  /** The user's uuid. */
  readonly user: string
}

/** Returns the organization; null while the session is not known. */
export function useOrganization(): CurrentOrganization | null {
  const { organization } = useProject()
  const { data } = useSession()
  if (data?.state !== 'in') return null
  const found = data.organizations.find(({ id }) => id === organization)
  if (found === undefined) return null
  const { id, name, membership_level: level } = found
  return { id, name, level, is_admin: level >= ADMIN, user: data.user.uuid }
}
