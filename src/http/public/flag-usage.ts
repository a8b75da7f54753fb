/** When flags were last asked for, by what clients tell of it with `$feature_flag_called`. */
import { USAGE_DAYS } from '../../targeting/staleness.ts'
import type { Needs } from '../needs.ts'
import { askEvents, type EventsAsked } from '../questions/event-questions.ts'

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
export async function readUsage(needs: Needs, asked: EventsAsked): Promise<LastUse> {
  const rows = await askEvents(needs, asked, LAST_CALLS)
  const last = new Map(rows.map(([key, at]) => [String(key), new Date(String(at))]))
  return (flag_key) => last.get(flag_key) ?? null
}
