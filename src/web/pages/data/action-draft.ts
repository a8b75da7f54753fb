/** The editable form of an action: read from the stored action or from an address, in words, and as filters of events. */
import type { ActionStep, ShownAction } from '../../api/types/shown-action.ts'
import { conditionText, isCondition } from '../../parts/filters/conditions.ts'
import { isEqual } from '../../parts/is-equal.ts'
import { eventTitle } from '../../parts/names.ts'

export type DraftedAction = {
  readonly name: string
  readonly description: string
  readonly tags: readonly string[]
  readonly steps: readonly ActionStep[]
  /** Of a copy: the members of its original that the page does not edit. */
  readonly others: Readonly<Record<string, unknown>>
}

/** Members that only the API edits; a copy has them too. */
const COPIED: ReadonlySet<string> = new Set(['pinned_at', 'post_to_slack', 'slack_message_format'])

const ANY_EVENT: ActionStep = {
  event: null,
  properties: [],
  selector: null,
  tag_name: null,
  text: null,
  text_matching: null,
  href: null,
  href_matching: null,
  url: null,
  url_matching: null,
  name: null,
}

export const NEW_STEP: ActionStep = { ...ANY_EVENT, event: '$pageview' }

export const NEW_ACTION: DraftedAction = {
  name: '',
  description: '',
  tags: [],
  steps: [NEW_STEP],
  others: {},
}

/** The draft of a stored action. */
export const draftOf = ({ name, description, tags, steps }: ShownAction): DraftedAction => ({
  name,
  description,
  tags,
  steps,
  others: {},
})

/** The draft of a new action that is like a stored one, with the changes of its draft. */
export const copyOf = (action: ShownAction, draft: DraftedAction): DraftedAction => ({
  ...draft,
  name: `${draft.name} (copy)`,
  others: copiedOf(action),
})

const copiedOf = (members: object): DraftedAction['others'] =>
  Object.fromEntries(Object.entries(members).filter(([name]) => COPIED.has(name)))

/** A draft as an address has it; null for anything else. */
export function readDraft(value: unknown): DraftedAction | null {
  const { name, description, tags, steps, others } = membersOf(value)
  if (typeof name !== 'string' || !Array.isArray(steps)) return null
  return {
    name,
    description: textOf(description) ?? '',
    tags: Array.isArray(tags) ? tags.filter((tag) => typeof tag === 'string') : [],
    steps: steps.map((step) => readStep(membersOf(step))),
    others: copiedOf(membersOf(others)),
  }
}

function readStep(step: Readonly<Record<string, unknown>>): ActionStep {
  const { properties } = step
  return {
    event: textOf(step['event']),
    properties: Array.isArray(properties) ? properties : [],
    selector: textOf(step['selector']),
    tag_name: textOf(step['tag_name']),
    text: textOf(step['text']),
    text_matching: matchingOf(step['text_matching']),
    href: textOf(step['href']),
    href_matching: matchingOf(step['href_matching']),
    url: textOf(step['url']),
    url_matching: matchingOf(step['url_matching']),
    name: textOf(step['name']),
  }
}

const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null)

const matchingOf = (value: unknown): ActionStep['url_matching'] =>
  value === 'contains' || value === 'exact' || value === 'regex' ? value : null

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return Object(value) as Readonly<Record<string, unknown>>
}

/** The body that stores a draft: what differs from the stored action, all of a new one. */
export function bodyOf({ others, ...draft }: DraftedAction, stored: DraftedAction | null): object {
  if (stored === null) return { ...others, ...draft, name: draft.name.trim() }
  // The API stores names with blanks around them, which stay unless the name is changed.
  const name = draft.name === stored.name ? draft.name : draft.name.trim()
  const before: Readonly<Record<string, unknown>> = stored
  return Object.fromEntries(
    Object.entries({ ...draft, name }).filter(([member, value]) => !isEqual(value, before[member])),
  )
}

/** The texts of a step that are compared: their members, what they are called, and how they are compared by default. */
export const MATCHES = [
  { of: 'url', matching: 'url_matching', text: 'URL', usual: 'contains' },
  { of: 'text', matching: 'text_matching', text: 'Text of the element', usual: 'exact' },
  { of: 'href', matching: 'href_matching', text: 'Link of the element', usual: 'exact' },
] as const

export const MATCHINGS = [
  { value: 'contains', text: 'contains' },
  { value: 'exact', text: 'is' },
  { value: 'regex', text: 'matches' },
] as const

/** `Page view, URL contains /pricing, or Sign up`; '' without steps. */
export const stepsText = (steps: readonly ActionStep[]): string =>
  steps.map((step) => stepText(step)).join(', or ')

function stepText(step: ActionStep): string {
  const matches = MATCHES.flatMap(({ of, matching, text, usual }) => {
    const value = step[of]
    const by = MATCHINGS.find((one) => one.value === (step[matching] ?? usual))?.text
    return value ? [`${text} ${by} ${value}`] : []
  })
  return [
    eventTitle(step.event),
    ...matches,
    ...(step.selector ? [step.selector] : []),
    ...(step.tag_name ? [`<${step.tag_name}>`] : []),
    ...step.properties.map((property) => propertyText(property)),
  ].join(', ')
}

/** A property in words; one that the page cannot edit as JSON. */
export const propertyText = (property: unknown): string =>
  isCondition(property) ? conditionText(property) : JSON.stringify(property)

/**
 * The events of an action as a tree of property filters, before it is stored: its conditions as the server reads them.
 * null without steps, which no event meets.
 */
export function filtersOf(steps: readonly ActionStep[]): object | null {
  if (steps.length === 0) return null
  return { type: 'OR', values: steps.map((step) => ({ type: 'AND', values: conditionsOf(step) })) }
}

function conditionsOf(step: ActionStep): readonly unknown[] {
  const { event, selector, tag_name, text, href, url } = step
  const conditions = [
    event ? expression(`event = ${literal(event)}`) : null,
    selector ? element('selector', selector) : null,
    tag_name ? element('tag_name', tag_name) : null,
    text
      ? expression(
          `arrayExists(one -> ${compareText('one', text, step.text_matching ?? 'exact', true)}, elements_chain_texts)`,
        )
      : null,
    href
      ? expression(compareText('elements_chain_href', href, step.href_matching ?? 'exact'))
      : null,
    url
      ? expression(compareText('properties.$current_url', url, step.url_matching ?? 'contains'))
      : null,
    step.properties.length > 0 ? { type: 'AND', values: step.properties } : null,
  ].filter((condition) => condition !== null)
  // A group without conditions would be left out, and match nothing.
  return conditions.length === 0 ? [expression('true')] : conditions
}

const expression = (key: string) => ({ type: 'hogql', key })

const element = (key: string, value: string) => ({ type: 'element', key, operator: 'exact', value })

function compareText(
  side: string,
  text: string,
  matching: 'contains' | 'exact' | 'regex',
  is_any_case = false,
): string {
  if (matching === 'exact') return `${side} = ${literal(text)}`
  if (matching === 'regex') return `ifNull(match(${side}, ${literal(text)}), false)`
  const position = is_any_case ? 'positionCaseInsensitive' : 'position'
  return `ifNull(${position}(${side}, ${literal(text)}) > 0, false)`
}

/** A text as HogQL has it. */
const literal = (text: string): string =>
  `'${text.replaceAll('\\', '\\\\').replaceAll("'", String.raw`\'`)}'`
