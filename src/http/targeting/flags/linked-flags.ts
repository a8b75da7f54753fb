/** Flags as other things show those they hang on. */
import type { Caller } from '../../../projects/access.ts'
import type { Project } from '../../../projects/project.ts'
import { mayReadFlag, rightsIn } from '../../../projects/rights.ts'
import { type Flag, listFlagsById } from '../../../targeting/flags/flag.ts'
import type { AppContext } from '../../app-context.ts'

/** Shows a flag by id; null for none. */
export type SerializeLinkedFlag = (flag_id: number | null) => object | null

/** The caller to whom something is shown, and the project that it belongs to. */
export type ShownTo = { readonly caller: Caller; readonly project: Project }

/**
 * Reads the project's flags once for all that is shown in one request. To callers who may not read a flag it is shown
 * without its filters: those are null.
 */
export function linkedFlags(app: AppContext, { caller, project }: ShownTo): SerializeLinkedFlag {
  const flags = listFlagsById(app.control, project.id)
  const rights = rightsIn(app.control, caller, project)
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
