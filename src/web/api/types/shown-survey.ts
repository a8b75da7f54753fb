/** A survey as the pages read it, its figures and its responses. */

/** A flag that a survey links to. */
type LinkedFlag = {
  readonly id: number
  readonly key: string
  /** Null for members without the right to read the flag. */
  readonly filters: Readonly<Record<string, unknown>> | null
}

/** A survey as stored; questions, conditions and appearance come from API clients too, so each member is checked before use. */
export type ShownSurvey = {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly type: string
  readonly schedule: string | null
  readonly linked_flag: LinkedFlag | null
  readonly linked_flag_id: number | null
  readonly targeting_flag: LinkedFlag | null
  readonly questions: unknown
  readonly conditions: unknown
  readonly appearance: unknown
  readonly translations: unknown
  readonly form_content: unknown
  readonly enable_partial_responses: boolean | null
  readonly enable_iframe_embedding: boolean | null
  readonly start_date: string | null
  readonly end_date: string | null
  readonly archived: boolean
  readonly responses_limit: number | null
  readonly iteration_count: number | null
  readonly iteration_frequency_days: number | null
  readonly current_iteration: number | null
  readonly created_at: string
  readonly updated_at: string
}

export type SurveyEvent = 'survey shown' | 'survey dismissed' | 'survey sent'

export type SurveyFigures = {
  readonly stats: Readonly<
    Record<SurveyEvent, { readonly total_count: number; readonly unique_persons: number }>
  >
  /** In percent. */
  readonly rates: {
    readonly response_rate: number
    readonly dismissal_rate: number
    readonly unique_users_response_rate: number
    readonly unique_users_dismissal_rate: number
  }
}

export type ShownResponse = {
  readonly uuid: string
  readonly timestamp: string
  readonly distinct_id: string
  readonly person_id: string
  readonly archived: boolean
  /** By question id; null where there is none. */
  readonly answers: Readonly<Record<string, unknown>>
}
