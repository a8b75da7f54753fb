/** A query of this page: a text, and the values of the variables that it names. */

import type { ListedVariable } from '../../api/variables.ts'
import { isObject } from '../explore/explore-query.ts'
import { cellText } from './results/cells.ts'

/** Typed values of variables by code name; an empty text means the variable's default. */
export type VariableTexts = Readonly<Record<string, string>>

type NodeVariable = { readonly code_name: string; readonly value?: unknown }

export type HogQLNode = {
  readonly kind: 'HogQLQuery'
  readonly query: string
  /** By the id of a saved variable, or by the code name of another. */
  readonly variables?: Readonly<Record<string, NodeVariable>>
}

/** The page has inputs for at most this many variables. */
const VARIABLES_MAX = 20
const VARIABLE = /\{\s*variables\.(\w{1,100})\s*\}/g

/** The code names of the variables of a text, each once. */
export function variableNames(text: string): readonly string[] {
  const names = [...text.matchAll(VARIABLE)].map(([, name = '']) => name)
  return [...new Set(names)].slice(0, VARIABLES_MAX)
}

/** The query of a text. */
export function nodeOfText(
  query: string,
  texts: VariableTexts,
  saved: readonly ListedVariable[],
): HogQLNode {
  const names = variableNames(query)
  if (names.length === 0) return { kind: 'HogQLQuery', query }
  const variables = names.map((code_name): [string, NodeVariable] => {
    const known = saved.find((one) => one.code_name === code_name)
    const text = texts[code_name] ?? ''
    const value = text === '' ? {} : { value: valueOfText(text, known?.type ?? null) }
    return [known?.id ?? code_name, { code_name, ...value }]
  })
  return { kind: 'HogQLQuery', query, variables: Object.fromEntries(variables) }
}

const NUMBER = /^-?\d{1,15}(\.\d{1,15})?$/

/** A typed value; for a variable that is not saved, a text that looks like a number is one. */
function valueOfText(text: string, type: ListedVariable['type'] | null): unknown {
  if (type === 'Boolean') return text === 'true'
  if ((type === 'Number' || type === null) && NUMBER.test(text)) return Number(text)
  return text
}

/** The texts of a query's values. */
export function textsOfNode({ variables = {} }: HogQLNode): VariableTexts {
  const texts = Object.values(variables).flatMap(({ code_name, value }): [string, string][] =>
    value === undefined || value === null ? [] : [[code_name, cellText(value)]],
  )
  return Object.fromEntries(texts)
}

/** A query from an address or a saved insight, with or without its wrapper; null for other kinds. */
export function readNode(value: unknown): HogQLNode | null {
  if (!isObject(value)) return null
  const { kind, query, variables } = isObject(value['source']) ? value['source'] : value
  if (kind !== 'HogQLQuery' || typeof query !== 'string') return null
  return { kind, query, ...(isObject(variables) && { variables: readVariables(variables) }) }
}

function readVariables(
  variables: Readonly<Record<string, unknown>>,
): Readonly<Record<string, NodeVariable>> {
  const read = Object.entries(variables).flatMap(([id, variable]): [string, NodeVariable][] => {
    if (!isObject(variable)) return []
    const { code_name, value } = variable
    if (typeof code_name !== 'string') return []
    return [[id, { code_name, ...(value !== undefined && { value }) }]]
  })
  return Object.fromEntries(read)
}

/** Whether two queries are the same. */
export const isSameNode = (one: HogQLNode | null, other: HogQLNode | null): boolean =>
  JSON.stringify(one) === JSON.stringify(other)
