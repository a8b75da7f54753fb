/** When flags were last asked for, by what clients tell of it with `$feature_flag_called`. */
import { USAGE_DAYS } from '../../targeting/flags/staleness.ts'
import { type EventListCall, queryEvents } from '../analytics/event-queries.ts'
import type { AppContext } from '../app-context.ts'

/** The moment of a flag's last use; null when it was not used in `USAGE_DAYS`. */
export type LastUse = (flag_key: string) => Date | null

const FLAGS_MAX = 10_000

const LAST_CALLS = `
select properties.$feature_flag, max(timestamp)
from events
where event = '$feature_flag_called' and timestamp >= now() - toIntervalDay(${USAGE_DAYS})
group by properties.$feature_flag
limit ${FLAGS_MAX}`

/** Asks the events of a project once, to be told flag by flag. */
export async function readUsage(app: AppContext, call: EventListCall): Promise<LastUse> {
  const rows = await queryEvents(app, call, LAST_CALLS)
  const last = new Map(rows.map(([key, at]) => [String(key), new Date(String(at))]))
  return (flag_key) => last.get(flag_key) ?? null
}
