/** A remembered text answers as one compiled again, whatever has changed since. */

import { describe, expect, test } from 'bun:test'
import { compileHogQL, compileSelect } from '../../src/hogql/compile.ts'
import { cachedLength, compileBuiltTree, compileText } from '../../src/hogql/compile-cache.ts'
import type { CompileContext } from '../../src/hogql/context.ts'
import { parseSelect } from '../../src/hogql/parser/parser.ts'
import { call, constant, selectOf } from '../../src/hogql/syntax/nodes.ts'
import { CONTEXT, NOW_US } from './engine.ts'

const YEAR_US = 366n * 86_400_000_000n

/** Each state of the world the same texts are asked in, one after the other. */
const STATES: Readonly<Record<string, Partial<CompileContext>>> = {
  'the first time': {},
  'a moment later': { now_us: NOW_US + 1n },
  'years later': { now_us: NOW_US + 3n * YEAR_US },
  'another project': { project_id: 2 },
  'another zone': { timezone: 'Europe/Berlin' },
  'another week': { week_start_day: 1 },
  'other values': { values: new Map([['x', 'b']]) },
  'values of another type': { values: new Map([['x', 1n]]) },
  'other limits': { limits: { rows_default: 5, rows_max: 10 } },
  'other cohorts': { cohorts: () => [{ id: 5, name: 'vip', is_static: true }] },
  'other definitions': { property_types: new Map([['event:price', 'String'] as const]) },
  'columns for properties': { has_property_columns: true },
}

const TEXTS = [
  'select event from events',
  'select now(), today()',
  'select toStartOfWeek(timestamp), count() from events where timestamp > now() - interval 7 day group by 1',
  "select toStartOfDay(timestamp), sum(properties.price) from events where timestamp > '2024-03-01' group by 1",
  'select {x} from events limit 7',
  'select count() from events where person_id in cohort 5',
  'select person_id from cohort_people',
  'select session.$channel_type from events where timestamp > yesterday()',
]

describe('compileBuiltTree', () => {
  const values = new Map([['x', 'a']])
  test.each(TEXTS)('%s', (text) => {
    for (const change of Object.values(STATES)) {
      const context = { ...CONTEXT, values, ...change }
      const tree = parseSelect(text)
      for (let time = 0; time < 3; time += 1)
        expect(compileBuiltTree(tree, context)).toEqual(compileSelect(tree, context))
    }
  })

  test('trees that differ in the type of a constant are different', () => {
    const constants = [
      1,
      1n,
      '1',
      true,
      null,
      0,
      -0,
      Number.NaN,
      Infinity,
      -Infinity,
      '{"bigint":"1"}',
    ]
    for (const value of [...constants, ...constants]) {
      const tree = selectOf([call('toTypeName', [constant(value)]), constant(value)])
      expect(compileBuiltTree(tree, CONTEXT)).toEqual(compileSelect(tree, CONTEXT))
    }
  })

  test('an equal tree is compiled once, a long one each time', () => {
    const textOf = (length: number): string => `select '${'x'.repeat(length)}', count() from events`
    const compiled = (length: number) => compileBuiltTree(parseSelect(textOf(length)), CONTEXT)
    expect(compiled(1000)).toBe(compiled(1000))
    expect(compiled(20_000)).not.toBe(compiled(20_000))
  })
})

describe('compileText', () => {
  const values = new Map([['x', 'a']])
  test.each(TEXTS)('%s', (text) => {
    for (const change of Object.values(STATES)) {
      const context = { ...CONTEXT, values, ...change }
      for (let time = 0; time < 3; time += 1)
        expect(compileText(text, context)).toEqual(compileHogQL(text, context))
    }
  })

  test('a text without the time is remembered whole', () => {
    const text = 'select distinct_id from events where properties.$os = {x}'
    const first = compileText(text, { ...CONTEXT, values })
    expect(compileText(text, { ...CONTEXT, values, now_us: NOW_US + 5n })).toBe(first)
    expect(compileText(`${text} `, { ...CONTEXT, values })).not.toBe(first)
  })

  test.each([
    ['UTC', 'select session.$channel_type from events where timestamp > now() - interval 7 day'],
    [
      'Europe/Berlin',
      'select toStartOfDay(timestamp), count() from events where timestamp > now() - interval 30 day group by 1',
    ],
  ])('a text with the time is rewritten once a day: %s, %s', (timezone, text) => {
    const hour_us = 3_600_000_000n
    const context = { ...CONTEXT, timezone }
    const first = compileText(text, context)
    // The list of types is made by the rewriting.
    const later = compileText(text, { ...context, now_us: NOW_US + hour_us })
    expect(later.types).toBe(first.types)
    expect(later.values).not.toEqual(first.values)
    const next = compileText(text, { ...context, now_us: NOW_US + 24n * hour_us })
    expect(next.types).not.toBe(first.types)
  })

  test('a text that lies on a change of clocks is remembered whole once it has left it', () => {
    const text = 'select count() from events where timestamp > now() - interval 1 day'
    const change_us = BigInt(Date.UTC(2024, 2, 31, 1)) * 1000n
    const typesAt = (hours: bigint) => {
      const now_us = change_us + hours * 3_600_000_000n
      return compileText(text, { ...CONTEXT, timezone: 'Europe/Berlin', now_us }).types
    }
    expect(typesAt(25n)).not.toBe(typesAt(25n))
    expect(typesAt(28n)).toBe(typesAt(29n))
  })

  test('all projects together keep so much and not more, what was asked for last longest', () => {
    const often = 'select uuid from events where timestamp > now()'
    const first = compileText('select 4 as often', CONTEXT)
    for (let number = 0; number < 400; number += 1) {
      const text = `select ${number} as n, '${'x'.repeat(2000)}'`
      compileText(text, { ...CONTEXT, project_id: number + 1 })
      compileText(often, CONTEXT)
      expect(compileText('select 4 as often', CONTEXT)).toBe(first)
    }
    expect(cachedLength()).toBeGreaterThan(200_000)
    expect(cachedLength()).toBeLessThanOrEqual(300_000)
    const long = `select '${'x'.repeat(5000)}'`
    expect(compileText(long, CONTEXT)).not.toBe(compileText(long, CONTEXT))
  })

  test('refusals come back each time, with their place', () => {
    for (let time = 0; time < 2; time += 1)
      expect(() => compileText('select nope from events', CONTEXT)).toThrow(
        'Unable to resolve field: nope',
      )
  })
})
