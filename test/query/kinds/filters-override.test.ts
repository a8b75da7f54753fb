/** What a dashboard puts over its queries: every kind gets it by the members of its shape. */
import { describe, expect, test } from 'bun:test'
import { INSIGHT_QUERIES } from '../../../src/contract/insights/kinds.ts'
import { overrideFilters } from '../../../src/query/kinds/filters-override.ts'

const OWN = { key: 'plan', value: 'pro' }
const ADDED = { key: 'country', value: 'DE' }
const FILTERS = {
  date_from: '-30d',
  properties: [ADDED],
  breakdown_filter: { breakdown: 'plan', breakdown_type: 'event' },
}
const RANGE = { date_from: '-30d', date_to: null }

describe('a dashboard', () => {
  test.each(Object.entries(INSIGHT_QUERIES))('reaches %s as far as it goes', (kind, schema) => {
    const members = Object.keys(schema.properties)
    if (members.includes('source')) {
      const source = { kind: 'TrendsQuery', series: [] }
      const changed = { ...source, dateRange: RANGE, properties: [ADDED] }
      expect(overrideFilters({ kind, source }, FILTERS)).toEqual({
        kind,
        source: { ...changed, breakdownFilter: FILTERS.breakdown_filter },
      })
      return
    }
    const has = (member: string, value: unknown) =>
      members.includes(member) ? { [member]: value } : {}
    const has_time = members.includes('dateRange') || members.includes('after')
    expect(overrideFilters({ kind }, FILTERS)).toEqual({
      kind,
      ...has('dateRange', RANGE),
      ...has('after', '-30d'),
      ...(has_time ? has('properties', [ADDED]) : {}),
      ...has('breakdownFilter', FILTERS.breakdown_filter),
    })
  })

  const over = (query: object, filters: object) =>
    overrideFilters({ kind: 'TrendsQuery', ...query }, filters)

  test('replaces the range as a whole, and only when it has one', () => {
    const query = { dateRange: { date_from: '-7d', date_to: '-1d' } }
    expect(over(query, { date_to: '2024-01-01', explicitDate: true })).toMatchObject({
      dateRange: { date_from: null, date_to: '2024-01-01', explicitDate: true },
    })
    for (const nothing of [{}, { date_from: null, date_to: null }, { date_from: '' }]) {
      expect(over(query, nothing)).toEqual({ kind: 'TrendsQuery', ...query })
    }
  })

  test.each([
    [undefined, [ADDED], [ADDED]],
    [[OWN], [ADDED], [OWN, ADDED]],
    [[OWN], [], [OWN]],
    [
      { type: 'OR', values: [OWN, OWN] },
      [ADDED],
      {
        type: 'AND',
        values: [
          { type: 'OR', values: [OWN, OWN] },
          { type: 'AND', values: [ADDED] },
        ],
      },
    ],
  ])('adds to the properties %j those of its own %j', (own, properties, all) => {
    expect(over({ properties: own }, { properties })).toMatchObject({ properties: all })
  })

  test('has nothing for HogQL, for kinds there are not, and for people by themselves', () => {
    for (const kind of ['HogQLQuery', 'TarotQuery', 'constructor', 'PersonsNode']) {
      expect(overrideFilters({ kind, query: 'x' }, FILTERS)).toEqual({ kind, query: 'x' })
    }
    expect(overrideFilters({ kind: 'TrendsQuery' }, null)).toEqual({ kind: 'TrendsQuery' })
  })
})
