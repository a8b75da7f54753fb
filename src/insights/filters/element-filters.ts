/** Filters on elements: the DOM path of a click, innermost first. */
import { refuseMember } from '../../errors.ts'
import type { Expr } from '../../hogql/syntax/ast.ts'
import { call, constant, field, NOWHERE, or } from '../../hogql/syntax/nodes.ts'
import {
  applyOperator,
  listOf,
  NEGATIONS,
  type OperatorContext,
  operandText,
} from './filter-operators.ts'
import { selectorPattern, tagPattern } from './selectors.ts'

/** The pattern of each element key. */
const PATTERNS: Readonly<Record<string, (text: string, attr: string) => string>> = {
  selector: selectorPattern,
  tag_name: tagPattern,
}

/** Attributes that any element of the chain may have. */
const TEXTS: Readonly<Record<string, string>> = {
  href: '(?::|")href="(.*?)"',
  text: '(?::|")text="(.*?)"',
}

type ElementFilter = {
  readonly key: string
  readonly operator: string
  readonly value: unknown
}

/**
 * The condition that any element matches the filter, or with a negated operator that none does.
 * Refuses unknown keys, and operators that selectors do not support.
 */
export function elementCondition(
  filter: ElementFilter,
  prefix: readonly string[],
  context: OperatorContext,
): Expr {
  const positive = NEGATIONS.get(filter.operator)
  if (positive !== undefined) {
    const any = elementCondition({ ...filter, operator: positive }, prefix, context)
    return call('not', [any])
  }
  const chain = field([...prefix, 'elements_chain'])
  const toPattern = Object.hasOwn(PATTERNS, filter.key) ? PATTERNS[filter.key] : undefined
  if (toPattern !== undefined) return matchesPattern(filter, chain, { toPattern, context })
  const pattern = Object.hasOwn(TEXTS, filter.key) ? TEXTS[filter.key] : undefined
  if (pattern === undefined) {
    throw refuseMember(`Elements have no ${JSON.stringify(filter.key)} to filter by.`, context.attr)
  }
  const texts = call('extractAll', [chain, constant(pattern)])
  if (filter.operator === 'is_set') return call('notEmpty', [texts])
  const side = { expr: field([ELEMENT_TEXT]), type: null, context }
  const expr = applyOperator(filter.operator, side, filter.value)
  return call('arrayExists', [{ kind: 'Lambda', ...NOWHERE, args: [ELEMENT_TEXT], expr }, texts])
}

const ELEMENT_TEXT = 'text_of_element'

type ElementPattern = {
  readonly toPattern: (text: string, attr: string) => string
  readonly context: OperatorContext
}

function matchesPattern(filter: ElementFilter, chain: Expr, how: ElementPattern): Expr {
  const { toPattern, context } = how
  if (filter.operator === 'is_set') return call('notEmpty', [chain])
  if (filter.operator !== 'exact' && filter.operator !== 'in') {
    throw refuseMember(
      `${filter.key} can be exact or is_not, but not ${filter.operator}.`,
      context.attr,
    )
  }
  const patterns = listOf(filter.value).map((value) =>
    call('match', [chain, constant(toPattern(operandText(context, value), context.attr))]),
  )
  return or(patterns) ?? constant(true)
}
