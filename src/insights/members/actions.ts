/** Actions: named sets of conditions on events, as saved and as HogQL conditions. */
import type { Expr } from '../../hogql/syntax/ast.ts'
import { and, call, compare, constant, field, or } from '../../hogql/syntax/nodes.ts'
import { expr } from '../../hogql/template.ts'
import { filterCondition, type PropertyFilterContext } from '../filters/property-filters.ts'
import { selectorPattern, tagPattern } from '../filters/selectors.ts'

/** The comparison of a text in a step. */
type TextMatching = 'contains' | 'exact' | 'regex'

/** One alternative of an action: all of its members must match; null members match anything. */
type SavedActionStep = {
  readonly event: string | null
  readonly properties: readonly unknown[]
  /** CSS selector of the clicked element or any element around it. */
  readonly selector: string | null
  readonly tag_name: string | null
  readonly text: string | null
  /** Null: the whole text, exactly. */
  readonly text_matching: TextMatching | null
  readonly href: string | null
  /** Null: the whole address, exactly. */
  readonly href_matching: TextMatching | null
  readonly url: string | null
  /** Null: a part of the address. */
  readonly url_matching: TextMatching | null
}

/** A project's action; an event is one when any step matches. */
export type SavedAction = {
  readonly id: number
  readonly name: string
  /** `SavedActionStep[]`. Parsed for actions that a query names: a project may keep 2 MiB, which take 50 ms. */
  readonly steps_json: string
}

const parsed_steps = new WeakMap<SavedAction, readonly SavedActionStep[]>()

/** Parses the steps of an action, once. */
export function stepsOf(action: SavedAction): readonly SavedActionStep[] {
  const parsed = parsed_steps.get(action)
  if (parsed !== undefined) return parsed
  const steps: readonly SavedActionStep[] = JSON.parse(action.steps_json)
  parsed_steps.set(action, steps)
  return steps
}

/** The condition that an event is the action. An action without steps matches no event. */
export function actionCondition(action: SavedAction, context: PropertyFilterContext): Expr {
  const steps = stepsOf(action)
  return or(steps.map((step) => stepCondition(step, context))) ?? constant(false)
}

function stepCondition(step: SavedActionStep, context: PropertyFilterContext): Expr {
  const column = (name: string): Expr => field([...context.prefix, name])
  const { event, selector, tag_name, text, href, url } = step
  const url_of = field([...context.prefix, 'properties', '$current_url'])
  const conditions = [
    event ? compare(column('event'), '==', constant(event)) : null,
    selector ? isMatch(column('elements_chain'), selectorPattern(selector, context.attr)) : null,
    tag_name ? isMatch(column('elements_chain'), tagPattern(tag_name)) : null,
    text ? anyText(column('elements_chain_texts'), text, step.text_matching ?? 'exact') : null,
    href ? textIs(column('elements_chain_href'), href, step.href_matching ?? 'exact') : null,
    url ? textIs(url_of, url, step.url_matching ?? 'contains') : null,
    filterCondition(step.properties, context),
  ]
  return and(conditions) ?? constant(true)
}

function isMatch(side: Expr, pattern: string): Expr {
  return expr`ifNull(${call('match', [side, constant(pattern)])}, false)`
}

function textIs(side: Expr, text: string, matching: TextMatching): Expr {
  switch (matching) {
    case 'exact':
      return compare(side, '==', constant(text))
    case 'contains':
      return expr`ifNull(position(${side}, ${constant(text)}) > 0, false)`
    case 'regex':
      return isMatch(side, text)
  }
}

/** The texts of any of the elements; substrings match in any case. */
function anyText(texts: Expr, text: string, matching: TextMatching): Expr {
  const one = field(['text_of_element'])
  const test =
    matching === 'contains'
      ? expr`positionCaseInsensitive(${one}, ${constant(text)}) > 0`
      : textIs(one, text, matching)
  return expr`arrayExists(text_of_element -> ${test}, ${texts})`
}
