/** Which definitions a query names, wherever in it, and what only looks like a name. */
import { describe, expect, test } from 'bun:test'
import { namedDefinitions } from '../../../src/query/kinds/named-definitions.ts'

const NOTHING = {
  has_test_accounts: false,
  has_actions: false,
  has_path_cleaning: false,
  has_display_names: false,
}

describe('a query names', () => {
  test.each([
    ['test accounts', { filterTestAccounts: true }, 'has_test_accounts'],
    ['an action as a series', { series: [{ kind: 'ActionsNode', id: 3 }] }, 'has_actions'],
    ['an action as an entity', { targetEntity: { id: 3, type: 'actions' } }, 'has_actions'],
    ['an action as a goal', { conversionGoal: { actionId: 3 } }, 'has_actions'],
    ['an action in HogQL', { select: ["matchesAction('bought')"] }, 'has_actions'],
    ['an action in HogQL, in other letters', { math_hogql: 'MATCHESACTION (3)' }, 'has_actions'],
    ['cleaned paths of a page', { doPathCleaning: true }, 'has_path_cleaning'],
    ['cleaned paths of paths', { pathsFilter: { pathReplacements: true } }, 'has_path_cleaning'],
    [
      'cleaned paths of a filter',
      { properties: [{ operator: 'is_cleaned_path_exact' }] },
      'has_path_cleaning',
    ],
    ['names of persons', { select: ['person_display_name -- Person'] }, 'has_display_names'],
  ] as const)('%s', (_, members, named) => {
    const query = { kind: 'TrendsQuery', source: { kind: 'TrendsQuery', ...members } }
    expect(namedDefinitions(query)).toEqual({ ...NOTHING, [named]: true })
  })

  test.each([
    ['a series of events', { series: [{ kind: 'EventsNode', event: 'ActionsNode' }] }],
    ['test accounts that are not asked for', { filterTestAccounts: false }],
    [
      'texts that look like members',
      { properties: [{ value: '"filterTestAccounts":true "actionId"' }] },
    ],
    ['a longer word', { select: ['matchesActionable'] }],
    ['a text about paths', { breakdown: 'cleaned_path' }],
  ])('nothing by %s', (_, members) => {
    expect(namedDefinitions({ kind: 'TrendsQuery', ...members })).toEqual(NOTHING)
  })

  test('what is in a query of great depth', () => {
    let query: object = { kind: 'ActionsNode' }
    for (let depth = 0; depth < 20_000; depth++) query = { source: query }
    expect(namedDefinitions(query)).toEqual({ ...NOTHING, has_actions: true })
  })
})
