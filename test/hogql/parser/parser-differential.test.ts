/** Our parser beside the official one: the same tree for the same text, known differences named. */

import { describe, expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { Refusal } from '../../../src/errors.ts'
import {
  parseExpr,
  parseOrderExpr,
  parseSelect,
  parseTemplate,
} from '../../../src/hogql/parser/parser.ts'
import type { Node } from '../../../src/hogql/syntax/ast.ts'
import { visitNodes } from '../../../src/hogql/syntax/walk.ts'
import { isTried } from '../../random-runs.ts'
import { type Entry, type Json, openOfficial, toOfficial } from './official.ts'
import { FAULTS, REFUSED_BY_THEM, REFUSED_BY_US } from './official-faults.ts'

/** The official parser takes some 10 ms a text and half a second to wake up. */
const SLOW_MS = 120_000

const CORPUS = `${import.meta.dir}/corpus`

/** What the texts of a file are; files not named here hold selects. */
const ENTRIES: Readonly<Record<string, Entry>> = {
  access: 'expr',
  calls: 'expr',
  lambdas: 'expr',
  literals: 'expr',
  operators: 'expr',
  orders: 'order',
  'refused-expr': 'expr',
  tags: 'expr',
  templates: 'template',
}

/** Every kind of node there is, so that the corpus can be shown to cover them. */
const KINDS = {
  Alias: true,
  And: true,
  ArithmeticOperation: true,
  Array: true,
  ArrayAccess: true,
  ArraySlice: true,
  BetweenExpr: true,
  CTE: true,
  Call: true,
  ColumnsExpr: true,
  CompareOperation: true,
  Constant: true,
  Dict: true,
  ExprCall: true,
  Field: true,
  GroupingSet: true,
  HogQLXAttribute: true,
  HogQLXTag: true,
  InterpolateExpr: true,
  IsDistinctFrom: true,
  JoinConstraint: true,
  JoinExpr: true,
  Lambda: true,
  LimitByExpr: true,
  NamedArgument: true,
  NamedWindow: true,
  Not: true,
  Or: true,
  OrderExpr: true,
  PivotColumn: true,
  PivotExpr: true,
  Placeholder: true,
  PositionalRef: true,
  RatioExpr: true,
  SampleExpr: true,
  SelectQuery: true,
  SelectSetNode: true,
  SelectSetQuery: true,
  TryCast: true,
  Tuple: true,
  TupleAccess: true,
  TypeCast: true,
  UnpivotColumn: true,
  UnpivotExpr: true,
  ValuesQuery: true,
  WindowExpr: true,
  WindowFrameExpr: true,
  WindowFunction: true,
  WithFillExpr: true,
} as const satisfies Record<Node['kind'], true>

const official = await openOfficial()
const files = readdirSync(CORPUS).map((name) => name.replace('.txt', ''))
const texts = new Map<string, readonly string[]>()
for (const name of files) {
  const lines = (await Bun.file(`${CORPUS}/${name}.txt`).text()).split('\n')
  texts.set(
    name,
    lines.filter((line) => line !== ''),
  )
}
const parsed = files.filter((name) => !name.startsWith('refused-'))
const refused = files.filter((name) => name.startsWith('refused-'))

function parse(entry: Entry, text: string): Node {
  switch (entry) {
    case 'select':
      return parseSelect(text)
    case 'expr':
      return parseExpr(text)
    case 'order':
      return parseOrderExpr(text)
    case 'template':
      return parseTemplate(text)
  }
}

/** Our tree in the official shape, or null for a refusal. */
function ours(entry: Entry, text: string): Json {
  try {
    return toOfficial(parse(entry, text))
  } catch (error) {
    if (error instanceof Refusal) return null
    throw error
  }
}

/** The official tree, or null for an error or a trap. */
async function theirs(entry: Entry, text: string): Promise<Json> {
  const answer = await official(entry, text)
  return answer.kind === 'tree' ? answer.tree : null
}

describe('the corpus', () => {
  test.each(parsed)(
    '%s: every text gets the official tree',
    async (name) => {
      const entry = ENTRIES[name] ?? 'select'
      for (const text of texts.get(name) ?? []) {
        const [our_tree, their_tree] = [ours(entry, text), await theirs(entry, text)]
        expect({ text, tree: our_tree }).toEqual({ text, tree: their_tree })
        expect({ text, parsed: our_tree !== null }).toEqual({ text, parsed: true })
      }
    },
    SLOW_MS,
  )

  test.each(refused)(
    '%s: both refuse every text',
    async (name) => {
      const entry = ENTRIES[name] ?? 'select'
      for (const text of texts.get(name) ?? []) {
        const answers = { ours: ours(entry, text), theirs: await theirs(entry, text) }
        expect({ text, ...answers }).toEqual({ text, ours: null, theirs: null })
      }
    },
    SLOW_MS,
  )

  test('has at least 400 texts and every kind of node', () => {
    const count = parsed.reduce((sum, name) => sum + (texts.get(name)?.length ?? 0), 0)
    expect(count).toBeGreaterThan(400)
    const seen = new Set<string>()
    for (const name of parsed) {
      for (const text of texts.get(name) ?? []) {
        visitNodes(parse(ENTRIES[name] ?? 'select', text), (node) => seen.add(node.kind))
      }
    }
    expect([...seen].toSorted()).toEqual(Object.keys(KINDS).toSorted())
  })
})

/** Operators before a second operand, and forms behind one; `@` is the operand to the left. */
const OPERATORS = `
  @ + c; @ - c; @ * c; @ / c; @ % c; @ || c; @ = c; @ < c; @ like c; @ not ilike c; @ in c; @ not in c; @ =~ c
  @ is distinct from c; @ <=> c; @ ?? c; @ and c; @ or c; @ in cohort c; @ is null; @ is not null; @ as z
  @::int; @[1]; @.x; @?.y; @ between 1 and 2; @ not between 1 and 2; @ ? p : q
  not @; -@; x -> @; x := @; case when @ then 1 end; f(@); (@)`
  .trim()
  .split(/\s*[;\n]\s*/)

describe('operators', () => {
  test(
    'every pair of them binds as the official grammar says; a third of them in each run',
    async () => {
      for (const [at, first] of OPERATORS.entries()) {
        for (const second of OPERATORS.filter((_, beside) => isTried(at + beside, 3))) {
          const text = second.replace('@', first.replace('@', 'a'))
          const answers = { text, tree: ours('expr', text) }
          expect(answers).toEqual({ text, tree: await theirs('expr', text) })
        }
      }
    },
    SLOW_MS,
  )
})

describe('known differences', () => {
  const faults = FAULTS.flatMap(({ reason, rows }) => rows.map((row) => [reason, ...row] as const))
  test.each(faults)('%s: %s %s', async (_reason, entry, text) => {
    const [our_tree, their_tree] = [ours(entry, text), await theirs(entry, text)]
    expect(our_tree).not.toBeNull()
    expect(their_tree).not.toBeNull()
    expect(our_tree).not.toEqual(their_tree)
  })

  const by_us = REFUSED_BY_US.flatMap(({ reason, rows }) =>
    rows.map((row) => [reason, ...row] as const),
  )
  test.each(by_us)('we refuse, since %s: %s %s', async (_reason, entry, text) => {
    expect(ours(entry, text)).toBeNull()
    expect(await theirs(entry, text)).not.toBeNull()
  })

  const by_them = REFUSED_BY_THEM.flatMap(({ reason, rows }) =>
    rows.map((row) => [reason, ...row] as const),
  )
  test.each(by_them)('only we know %s: %s %s', async (_reason, entry, text) => {
    expect(ours(entry, text)).not.toBeNull()
    expect(await theirs(entry, text)).toBeNull()
  })
})
