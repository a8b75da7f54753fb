/** Actions: several ways of doing the same thing under one name, as they are saved. */

/** How a step compares a text. */
export type TextMatching = 'contains' | 'exact' | 'regex'

/** One way of doing it; all that a step says must hold, and what it leaves out (null) may be anything. */
export type ActionStep = {
  readonly event: string | null
  readonly properties: readonly unknown[]
  /** Of the element that was clicked, or any around it. */
  readonly selector: string | null
  readonly tag_name: string | null
  readonly text: string | null
  readonly text_matching: TextMatching
  readonly href: string | null
  readonly href_matching: TextMatching
  readonly url: string | null
  readonly url_matching: TextMatching
}

/** An action of a project; an event is one when any step matches. */
export type SavedAction = {
  readonly id: number
  readonly name: string
  readonly steps: readonly ActionStep[]
}
