/** Flags as other things show those they hang on. */
import type { Flag } from '../../targeting/flag.ts'
import { listFlagsById } from '../../targeting/flag.ts'
import type { Needs } from '../needs.ts'

/** Shows a flag by id; null for none. */
export type ShowLinked = (flag_id: number | null) => object | null

/** Reads the project's flags once for all that is shown in one request. */
export function linkedFlags(needs: Needs, project_id: number): ShowLinked {
  const flags = listFlagsById(needs.control, project_id)
  return (flag_id) => {
    const flag = flag_id === null ? undefined : flags.get(flag_id)
    return flag === undefined ? null : minimalFlag(flag)
  }
}

function minimalFlag(flag: Flag): object {
  return {
    id: flag.id,
    team_id: flag.project_id,
    name: flag.name,
    key: flag.key,
    filters: flag.filters,
    deleted: flag.deleted,
    active: flag.active,
    ensure_experience_continuity: flag.ensure_experience_continuity,
    has_encrypted_payloads: false,
    version: flag.version,
  }
}
