/**
 * Path cleaning: replaces parts of paths by the project's rules, so that `/user/7` and `/user/8`
 * become `/user/:id`.
 */
import { refuseMember } from '../../errors.ts'
import type { Expr } from '../../hogql/syntax/ast.ts'
import { call, constant } from '../../hogql/syntax/nodes.ts'

/** One rule: matches of `regex` become `alias`. */
type CleaningRule = { readonly regex: string; readonly alias: string; readonly order: number }

/** Maximum rules applied. */
const RULES_MAX = 200
/** Maximum characters of their patterns and replacements together, each of which is printed several times. */
const RULES_LENGTH_MAX = 50_000

/** A path with every rule applied in order. Refuses (`invalid_input`) rules that are not a list. */
export function cleanPath(path: Expr, rules: unknown, attr: string): Expr {
  if (rules !== undefined && rules !== null && !Array.isArray(rules)) {
    throw refuseMember('path_cleaning_filters must be a list.', attr)
  }
  const read = readRules(rules ?? [])
  if (read.reduce((sum, rule) => sum + lengthOf(rule), 0) > RULES_LENGTH_MAX) {
    const detail = `Rules of path cleaning have at most ${RULES_LENGTH_MAX} characters together.`
    throw refuseMember(detail, attr)
  }
  return read.reduce<Expr>(
    (expr, { regex, alias }) => call('replaceRegexpAll', [expr, constant(regex), constant(alias)]),
    call('toString', [path]),
  )
}

const lengthOf = ({ regex, alias }: CleaningRule): number => regex.length + alias.length

/** Rules without a pattern, which editors save while a user types, are ignored. */
function readRules(rules: readonly unknown[]): readonly CleaningRule[] {
  return rules
    .slice(0, RULES_MAX)
    .flatMap((rule, index) => {
      if (typeof rule !== 'object' || rule === null || !('regex' in rule)) return []
      const { regex } = rule
      const alias = 'alias' in rule && typeof rule.alias === 'string' ? rule.alias : ''
      const order = 'order' in rule && typeof rule.order === 'number' ? rule.order : index
      return typeof regex === 'string' && regex !== '' ? [{ regex, alias, order }] : []
    })
    .toSorted((a, b) => a.order - b.order)
}
