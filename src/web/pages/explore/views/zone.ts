/** From the clock of a project's zone to instants. */
import { inZone } from '../../../parts/charts/chart-data.ts'

/** The instant at which a day is at noon in a zone: within the day whatever the clocks do. */
export function instantOf(day: string, timezone: string): Date {
  const wanted = new Date(`${day}T12:00:00Z`)
  const shown = inZone(wanted, timezone)
  return new Date(wanted.getTime() - (shown.getTime() - wanted.getTime()))
}
