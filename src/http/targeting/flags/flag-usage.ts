/** The last use of each flag, by the `$feature_flag_called` events of SDKs. */
import { USAGE_DAYS } from '../../../targeting/flags/flag-status.ts'
import { type EventListCall, queryEvents } from '../../analytics/queries/event-queries.ts'
import type { AppContext } from '../../app-context.ts'

/** The time of a flag's last use; null without any within `USAGE_DAYS`. */
type LastUse = (flag_key: string) => Date | null

const FLAGS_MAX = 10_000

const LAST_CALLS = `
select properties.$feature_flag, max(timestamp)
from events
where event = '$feature_flag_called' and timestamp >= now() - toIntervalDay(${USAGE_DAYS})
group by properties.$feature_flag
limit ${FLAGS_MAX}`

/** Reads the last uses of all flags of a project with one query. */
export async function readUsage(app: AppContext, call: EventListCall): Promise<LastUse> {
  const rows = await queryEvents(app, call, LAST_CALLS)
  const last = new Map(rows.map(([key, at]) => [String(key), new Date(String(at))]))
  return (flag_key) => last.get(flag_key) ?? null
}
