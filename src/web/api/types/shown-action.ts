/** An action as the pages read it. */

export type ShownAction = {
  readonly id: number
  readonly name: string
  readonly description: string
  readonly tags: readonly string[]
  /** An event is the action when it meets any of them. */
  readonly steps: readonly ActionStep[]
  readonly deleted: boolean
  readonly updated_at: string
}

/** The comparison of a text; null is the one that the server takes by default. */
type StepMatching = 'contains' | 'exact' | 'regex' | null

/** Conditions that all hold; null ones are not set. */
export type ActionStep = {
  /** The name of the event; null for any. */
  readonly event: string | null
  /** From API clients too, so each is checked before use. */
  readonly properties: readonly unknown[]
  /** CSS selector of the clicked element or of one around it. */
  readonly selector: string | null
  readonly tag_name: string | null
  readonly text: string | null
  readonly text_matching: StepMatching
  readonly href: string | null
  readonly href_matching: StepMatching
  readonly url: string | null
  readonly url_matching: StepMatching
  readonly name: string | null
}
