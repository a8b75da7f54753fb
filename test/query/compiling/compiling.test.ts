/** Large queries are compiled on a Worker, to the same as small ones where they are asked. */
import { describe, expect, test } from 'bun:test'
import { Refusal } from '../../../src/errors.ts'
import { FULL_BUDGET } from '../../../src/hogql/budget.ts'
import type { CompiledQuery } from '../../../src/hogql/compile.ts'
import { parseSelect } from '../../../src/hogql/parser/parser.ts'
import {
  type CompileSubject,
  compileTextWithin,
  compileTreeWithin,
} from '../../../src/query/compiling/compile-job.ts'
import { compileTextQuery, compileTree } from '../../../src/query/compiling/compiler.ts'
import { loadResources } from '../../../src/query/compiling/load-resources.ts'
import { readMetadata } from '../../../src/query/editor/metadata.ts'
import type { QueryContext } from '../../../src/query/kinds/prepared-query.ts'

const NOW = new Date('2024-06-15T12:00:00Z')

const LIMITS = { rows_default: 100, rows_max: 50_000 }

const ASKING: QueryContext = {
  project: { id: 7, timezone: 'Europe/Berlin', week_start_day: 1, hidden_tables: [] },
  property_types: new Map([['event:price', 'Numeric']]),
  cohorts: () => [{ id: 5, name: 'vip', is_static: false }],
  actions: () => [
    {
      id: 3,
      name: 'bought',
      steps_json: JSON.stringify([{ event: 'buy', selector: 'a > .btn', properties: [] }]),
    },
    { id: 4, name: 'sold', steps_json: 'never parsed: no query here names this action' },
  ],
  resources: async (name) => {
    if (name === 'system.surveys') throw new Refusal('permission_denied', 'Not for you.')
    return { id: '[1]', name: '["a flag"]' }
  },
  rows_max: 50_000,
}

const subjectOf = (text: string, more = {}): Extract<CompileSubject, { kind: 'text' }> => ({
  kind: 'text',
  text,
  values: new Map(),
  filters: null,
  ...more,
})

/** Conditions that change nothing and make a text too large for the thread that answers everybody. */
const PADDING = Array.from({ length: 1500 }, (_, index) => `event != 'e${index}'`).join(' and ')

const TEXTS: Readonly<Record<string, string>> = {
  'properties, typed and not': `select properties.price + 1, properties.plan from events where ${PADDING}`,
  'times of the project': `select toStartOfDay(timestamp) from events where timestamp > now() - interval 1 day and ${PADDING}`,
  cohorts: `select person_id in cohort 'vip' from events where ${PADDING}`,
  'members of cohorts': `select c.person_id from cohort_people c, events where ${PADDING}`,
  actions: `select matchesAction('bought') from events where ${PADDING}`,
  'rows that are kept outside of the engine': `select f.name from system.feature_flags f, events where ${PADDING}`,
  values: `select {wanted} from events where ${PADDING}`,
  filters: `select count() from events where {filters} and ${PADDING}`,
}

const FILTERS = {
  date_from: '-7d',
  date_to: null,
  properties: [[{ key: 'plan', type: 'event', operator: 'exact', value: ['a', 'b'] }]],
  test_account_filters: [],
  path_cleaning_filters: [],
}

describe('a large text', () => {
  test.each(Object.entries(TEXTS))(
    'with %s is compiled to the same on the Worker',
    async (name, text) => {
      const subject = subjectOf(text, {
        values: new Map([['wanted', ['x', 1n, null]]]),
        filters: name === 'filters' ? FILTERS : null,
      })
      const resources = await loadResources(new Set(['system', 'feature_flags']), ASKING)
      const options = { now: NOW, limits: LIMITS, resources, budget: FULL_BUDGET }
      const here = compileTextWithin({ ...subject, tree: parseSelect(text) }, ASKING, options)
      const there = await compileTextQuery(subject, ASKING, { now: NOW, limits: LIMITS })
      expect(there).toEqual(here)
    },
  )

  test('is refused with the place of what is wrong', async () => {
    const text = `select nope from events where ${PADDING}`
    const refusal = await refused(compileTextQuery(subjectOf(text), ASKING, HOW))
    expect(refusal.detail).toStartWith('Unable to resolve field: nope')
    expect(refusal.span).toEqual({ start: 7, end: 11 })
    const missing = `select {variables.x} from events where ${PADDING}`
    expect((await refused(compileTextQuery(subjectOf(missing), ASKING, HOW))).detail).toBe(
      'Variable x is missing from query',
    )
  })

  test('is refused a table that is hidden, unless the name is no table in it', async () => {
    const text = `select * from system.surveys where ${PADDING.replaceAll('event', 'name')}`
    const refusal = await refused(compileTextQuery(subjectOf(text), ASKING, HOW))
    expect(refusal.code).toBe('permission_denied')
    const named = `select 'surveys' as surveys from events where ${PADDING}`
    const { columns } = await compileTextQuery(subjectOf(named), ASKING, HOW)
    expect(columns).toEqual(['surveys'])
  })

  test.each(['persons', 'cohort_people', 'groups'])(
    'is refused the table %s where that is hidden from the caller',
    async (table) => {
      const project = { ...ASKING.project, hidden_tables: [table] }
      const hiding = { ...ASKING, project }
      const text = `select 1 from ${table}, events where ${PADDING}`
      const { code } = await refused(compileTextQuery(subjectOf(text), hiding, HOW))
      expect(code).toBe('permission_denied')
      const tree = await refused(compileTree(parseSelect(text), hiding, NOW))
      expect(tree.code).toBe('permission_denied')
    },
  )

  test.each([
    'select name from `system.feature_flags`',
    'select f.name from "system"."feature_flags" f',
  ])('finds a table however it is quoted: %s', async (text) => {
    const { columns } = await compileTextQuery(subjectOf(text), ASKING, HOW)
    expect(columns).toEqual(['name'])
  })

  test('finds a table that only its filters name', async () => {
    const key = 'event in (select name from system.feature_flags)'
    const filters = { ...FILTERS, properties: [[{ key, type: 'hogql', value: null }]] }
    const subject = subjectOf(TEXTS['filters'] ?? '', { filters })
    const { values } = await compileTextQuery(subject, ASKING, HOW)
    expect(values).toContainEqual({ type: 'VARCHAR', value: '["a flag"]' })
  })

  test('of tables that are too large together is refused', async () => {
    const long = { id: '[1]', name: `["${'x'.repeat(7_000_000)}"]` }
    const context: QueryContext = { ...ASKING, resources: async () => long }
    const one = subjectOf('select count() from system.insights')
    expect((await compileTextQuery(one, context, HOW)).columns).toEqual(['count()'])
    const two = subjectOf('select count() from system.insights i, system.actions a')
    expect((await refused(compileTextQuery(two, context, HOW))).detail).toBe(
      'The system tables of a query have at most 12582912 characters together.',
    )
  })

  test('lets others be answered meanwhile', async () => {
    const text = `select ${'count() over (partition by event), '.repeat(3000)} 1 from events`
    let turns = 0
    const timer = setInterval(() => (turns += 1), 1)
    await compileTextQuery(subjectOf(text), ASKING, HOW)
    clearInterval(timer)
    // Compiled where requests are answered, there would be none.
    expect(turns).toBeGreaterThan(5)
  })

  test('is no larger than the full budget', async () => {
    const text = `select ${'*, '.repeat(4000)} 1 from events`
    const refusal = await refused(compileTextQuery(subjectOf(text), ASKING, HOW))
    expect(refusal.detail).toBe('A select has at most 5000 columns')
    const stars = `select ${'*, '.repeat(190)} 1 from events`
    const legs = Array.from({ length: 30 }, () => stars).join(' union all ')
    expect((await refused(compileTextQuery(subjectOf(legs), ASKING, HOW))).detail).toBe(
      'The query is too large',
    )
  })
})

const HOW = { now: NOW, limits: LIMITS }

async function refused(compiled: Promise<CompiledQuery>): Promise<Refusal> {
  const error = await compiled.then(
    () => null,
    (reason: unknown) => reason,
  )
  if (error instanceof Refusal) return error
  throw new Error(`no refusal: ${String(error)}`)
}

describe('a large tree', () => {
  test('is compiled to the same on the Worker', async () => {
    const tree = parseSelect(TEXTS['cohorts'] ?? '')
    const limits = { rows_default: ASKING.rows_max, rows_max: ASKING.rows_max }
    const options = { now: NOW, limits, resources: new Map(), budget: FULL_BUDGET }
    const here = compileTreeWithin(tree, ASKING, options)
    expect(await compileTree(tree, ASKING, NOW)).toEqual(here)
  })
})

test('the same list in the place of thousands of placeholders is refused before it is put in', async () => {
  const values = new Map([['list', Array.from({ length: 10_000 }, () => 1n)]])
  const text = `select ${'{list}, '.repeat(4000)} 1`
  const refusal = await refused(compileTextQuery(subjectOf(text, { values }), ASKING, HOW))
  expect(refusal.detail).toBe('The query is too large')
})

test('the same filters in thousands of selects are refused before they are put in', async () => {
  const value = Array.from({ length: 2000 }, (_, index) => `v${index}`)
  const properties = [[{ key: 'plan', type: 'event', operator: 'exact', value }]]
  const leg = 'select 1 from events where {filters}'
  const text = Array.from({ length: 1500 }, () => leg).join(' union all ')
  const subject = subjectOf(text, { filters: { ...FILTERS, properties } })
  const refusal = await refused(compileTextQuery(subject, ASKING, HOW))
  expect(refusal.detail).toBe('The query is too large')
})

describe('a large text of an editor', () => {
  const asking = {
    ...ASKING,
    now: NOW,
    listEvents: () => [],
    listProperties: () => [],
  }

  test('is read on the Worker, with remarks about the properties it names', async () => {
    const query = `select properties.price, properties.plan from events where ${PADDING}`
    expect(
      await readMetadata({ kind: 'HogQLMetadata', language: 'hogQL', query }, asking),
    ).toMatchObject({
      isValid: true,
      columns: ['price', 'plan'],
      table_names: ['events'],
      notices: [{ start: 7, end: 23, message: 'Event property "price" is of type Numeric.' }],
      warnings: [{ start: 25, end: 40, message: 'Event property "plan" was never sent.' }],
    })
  })

  test('shows all its faults', async () => {
    const query = `select nope, nada from events where ${PADDING.slice(0, 9000)}'`
    const read = await readMetadata({ kind: 'HogQLMetadata', language: 'hogQL', query }, asking)
    expect(read).toMatchObject({ isValid: false, table_names: ['events'] })
    expect(read).toMatchObject({
      errors: [
        { start: 7, end: 11 },
        { start: 13, end: 17 },
      ],
    })
  })
})
