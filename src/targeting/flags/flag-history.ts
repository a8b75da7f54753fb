/** Earlier versions of flags, reconstructed by undoing the changes of the activity log. */
import { Refusal } from '../../errors.ts'
import { type ActivityChange, listPast } from '../../projects/activity.ts'
import type { ControlDB } from '../../storage/control/control-db.ts'
import type { Flag } from './flag.ts'

/** One version of a flag. */
type FlagVersion = {
  readonly flag: Flag
  readonly is_historical: boolean
  readonly version_timestamp: Date
  /** The user who made this version; null for a deleted one. */
  readonly modified_by: number | null
}

/** The most versions that one call undoes. */
const VERSIONS_BACK_MAX = 1000

/** Returns a flag at a version. Refuses versions that never existed, and those older than the log. */
export function flagAt(db: ControlDB, flag: Flag, version: number): FlagVersion {
  const back = flag.version - version
  if (version < 1 || back < 0) throw notFound(`Version ${version} of this flag does not exist.`)
  const item = {
    project_id: flag.project_id,
    scope: 'FeatureFlag',
    item_id: String(flag.id),
  } as const
  const past = listPast(db, item, Math.min(back, VERSIONS_BACK_MAX) + 1)
  const creation = past[back]
  if (creation === undefined) {
    throw notFound(`The activity log does not reach back to version ${version}.`)
  }
  if (past.slice(0, back).some(({ changes }) => changes.some(isShortened))) {
    throw notFound(`The activity log does not keep all of version ${version}.`)
  }
  const earlier = past.slice(0, back).reduce<Flag>(
    (later, { changes }) => ({
      ...later,
      ...Object.fromEntries(changes.map(({ field, before }) => [field, before])),
    }),
    flag,
  )
  return {
    flag: { ...earlier, version },
    is_historical: back > 0,
    version_timestamp: creation.created_at,
    modified_by: creation.user_id,
  }
}

/** Very long filters are shortened to a text in the log, which cannot be undone. */
function isShortened({ field, before }: ActivityChange): boolean {
  return field === 'filters' && typeof before === 'string'
}

function notFound(detail: string): Refusal {
  return new Refusal('not_found', detail)
}
