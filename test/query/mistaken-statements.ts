/** Random statements full of mistakes, for both engines. */

import * as fc from 'fast-check'
import { functionNames } from '../../src/hogql/functions/registry.ts'

/** Constants and columns, of which few fit where they are put. */
const VALUES =
  `'abc'|''|'2026-13-45'|1|-1|0|1.5|9223372036854775807|-9223372036854775808|18446744073709551615|1e308|1e400
null|true|timestamp|now()|today()|event|uuid|properties|properties.n|properties.s|properties.list|person|person.properties
[]|[1,2]|['a']|[1,'a']|[null]|[[1],[2]]|(1,2)|(1,'a')|tuple()|map('a',1)|toUUID('x')|toDate('2026-01-01')|interval 1 day
x -> x|(x, y) -> x + y|*|count()|sum(1)|row_number() over ()|'(a+'|'['|'[z-a]'|'a{99999}'|'(?P<x'|'$.['|'$[a'|'{'|'UTC'|'%Q%'
'Europe/Nowhere'|toFloat('x')|groupArray(event)|nan|inf|nowhere|e.x.y|{placeholder}|toDecimal('1', 2)|range(3)|99999999999999`
    .split(/[|\n]/)
    .map((value) => value.trim())

const TYPES = [
  'Int8',
  'UInt64',
  'Date',
  'DateTime',
  'UUID',
  'Nope',
  'Array(String)',
  'BLOB',
  'HUGEINT',
]
const OPERATORS = [
  '+',
  '-',
  '*',
  '/',
  '%',
  '=',
  '<',
  'like',
  'in',
  'not in',
  '||',
  '=~',
  '??',
  'and',
]

const value = fc.constantFrom(...VALUES)
const name = fc.constantFrom(...functionNames())
const listOf = (min: number, max: number) =>
  fc.array(value, { minLength: min, maxLength: max }).map((values) => values.join(', '))

/** Statements with wrong types, wrong numbers of arguments, overflows, bad patterns, bad paths and bad casts. */
export const MISTAKES = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(name, listOf(0, 4)).map(([f, args]) => `${f}(${args})`) },
  fc.tuple(name, value, listOf(1, 2)).map(([f, param, args]) => `${f}(${param})(${args})`),
  fc.tuple(value, fc.constantFrom(...OPERATORS), value).map((parts) => parts.join(' ')),
  fc.tuple(value, fc.constantFrom(...TYPES)).map(([v, type]) => `cast(${v} as ${type})`),
  fc
    .tuple(value, value, value, value)
    .map(([a, b, c, d]) => `case ${a} when ${b} then ${c} else ${d} end`),
  fc.tuple(value, value).map(([a, b]) => `${a}[${b}]`),
  fc
    .tuple(value, value, value)
    .map(([a, b, c]) => `${a} from events group by ${b} having ${c} union all select 1`),
)
