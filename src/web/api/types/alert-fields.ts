/** The members of an alert that its dialog sets. */
import type { AlertConditionInput } from '../../../contract/analytics/alerts.ts'

/** The members that are set by hand. */
export type AlertFields = {
  readonly name: string
  readonly condition: AlertConditionInput
  readonly threshold: {
    readonly configuration: {
      readonly type: 'absolute' | 'percentage'
      readonly bounds: { readonly lower?: number | null; readonly upper?: number | null }
    }
  }
  readonly config: {
    readonly type: 'TrendsAlertConfig'
    readonly series_index: number
    readonly check_ongoing_interval?: boolean | null
  }
  readonly calculation_interval: 'hourly' | 'daily' | 'weekly' | 'monthly'
  readonly webhook_url: string | null
}
