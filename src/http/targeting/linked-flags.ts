/** Flags as other things show those they hang on. */
import type { Asker } from '../../projects/access.ts'
import type { Project } from '../../projects/project.ts'
import { mayReadFlag, rightsIn } from '../../projects/rights.ts'
import type { Flag } from '../../targeting/flag.ts'
import { listFlagsById } from '../../targeting/flag.ts'
import type { Needs } from '../needs.ts'

/** Shows a flag by id; null for none. */
export type ShowLinked = (flag_id: number | null) => object | null

/** The caller to whom something is shown, and the project that it belongs to. */
export type ShownTo = { readonly asker: Asker; readonly project: Project }

/**
 * Reads the project's flags once for all that is shown in one request. To callers who may not read a flag it is shown
 * without its filters: those are null.
 */
export function linkedFlags(needs: Needs, { asker, project }: ShownTo): ShowLinked {
  const flags = listFlagsById(needs.control, project.id)
  const rights = rightsIn(needs.control, asker, project)
  return (flag_id) => {
    const flag = flag_id === null ? undefined : flags.get(flag_id)
    return flag === undefined ? null : minimalFlag(flag, mayReadFlag(rights, flag))
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
