/** Serializes flags inside the objects that link to them. */
import type { Caller } from '../../../projects/rights/access.ts'
import { mayReadFlag, rightsIn } from '../../../projects/rights/rights.ts'
import type { Project } from '../../../projects/settings/project.ts'
import { type Flag, findFlag } from '../../../targeting/flags/flag.ts'
import type { AppContext } from '../../app-context.ts'

/** Serializes a flag by id; null for null. */
type SerializeLinkedFlag = (flag_id: number | null) => object | null

/** The caller and the project of a serialized object. */
export type ShownTo = { readonly caller: Caller; readonly project: Project }

/**
 * Reads each linked flag once for all objects of a request. Callers without the right to read a flag get null for its
 * filters.
 */
export function linkedFlags(app: AppContext, { caller, project }: ShownTo): SerializeLinkedFlag {
  const flags = new Map<number, object | null>()
  const rights = rightsIn(app.control, caller, project)
  return (flag_id) => {
    if (flag_id === null) return null
    const known = flags.get(flag_id)
    if (known !== undefined) return known
    const flag = findFlag(app.control, project.id, flag_id)
    const shown = flag && minimalFlag(flag, mayReadFlag(rights, flag))
    flags.set(flag_id, shown)
    return shown
  }
}

function minimalFlag(flag: Flag, shows_filters: boolean): object {
  return {
    id: flag.id,
    team_id: flag.project_id,
    name: flag.name,
    key: flag.key,
    filters: shows_filters ? flag.filters : null,
    deleted: flag.deleted,
    active: flag.active,
    ensure_experience_continuity: flag.ensure_experience_continuity,
    has_encrypted_payloads: false,
    version: flag.version,
  }
}
