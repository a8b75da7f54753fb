/** Ids inside definitions are replaced wherever a definition can name another; nothing else is touched. */
import { expect, test } from 'bun:test'
import { NestedTooDeeply, rewriteReferences } from '../../../src/backup/server/references.ts'

const UUID = '01a21a56-e627-719b-9ad6-6fa50232cb8c'
const OTHER = '01a21a56-ffff-719b-9ad6-6fa50232cb8c'

/** Every id here is the one of the source and 100, but for 9, which is not here. */
const findTarget = (_kind: string, id: string): number | string | null => {
  if (id === UUID) return OTHER
  return id === '9' ? null : Number(id) + 100
}

test.each([
  [
    { type: 'cohort', key: 'id', value: 3 },
    { type: 'cohort', key: 'id', value: 103 },
  ],
  [
    { type: 'cohort', key: 'id', value: '3' },
    { type: 'cohort', key: 'id', value: '103' },
  ],
  [
    { type: 'cohort', key: 'id', value: [3, 4] },
    { type: 'cohort', key: 'id', value: [103, 104] },
  ],
  [
    { type: 'flag', key: '5', value: true },
    { type: 'flag', key: '105', value: true },
  ],
  [
    { type: 'flag', key: 'by-name', value: true },
    { type: 'flag', key: 'by-name', value: true },
  ],
  [
    { kind: 'ActionsNode', id: 1 },
    { kind: 'ActionsNode', id: 101 },
  ],
  [
    { kind: 'EventsNode', id: 1 },
    { kind: 'EventsNode', id: 1 },
  ],
  [{ actions: [{ id: '2', type: 'actions' }] }, { actions: [{ id: '102', type: 'actions' }] }],
  [{ events: [{ id: '2', type: 'events' }] }, { events: [{ id: '2', type: 'events' }] }],
  [
    { type: 'behavioral', event_type: 'actions', key: 2, seq_event_type: 'actions', seq_event: 3 },
    {
      type: 'behavioral',
      event_type: 'actions',
      key: 102,
      seq_event_type: 'actions',
      seq_event: 103,
    },
  ],
  [
    { type: 'behavioral', event_type: 'events', key: '2' },
    { type: 'behavioral', event_type: 'events', key: '2' },
  ],
  [
    { breakdown_type: 'cohort', breakdown: [1, 'all', 0] },
    { breakdown_type: 'cohort', breakdown: [101, 'all', 0] },
  ],
  [
    { breakdown_type: 'event', breakdown: '1' },
    { breakdown_type: 'event', breakdown: '1' },
  ],
  [
    { breakdowns: [{ type: 'cohort', property: 2 }] },
    { breakdowns: [{ type: 'cohort', property: 102 }] },
  ],
  [{ conversionGoal: { actionId: 4 } }, { conversionGoal: { actionId: 104 } }],
  [
    { math_group_type_index: 0, group_type_index: null },
    { math_group_type_index: 100, group_type_index: null },
  ],
  [
    { variables: { [UUID]: { variableId: UUID, value: 3 } } },
    { variables: { [OTHER]: { variableId: OTHER, value: 3 } } },
  ],
  [
    { type: 'person', key: 'id', value: 3 },
    { type: 'person', key: 'id', value: 3 },
  ],
])('%j is %j', (body, expected) => {
  expect(rewriteReferences(body, findTarget).body).toEqual(expected)
})

test('what is not here is named, and so is HogQL that may name things by number', () => {
  const filters = [
    { type: 'cohort', key: 'id', value: [1, 9] },
    { kind: 'ActionsNode', id: 9 },
  ]
  const rewritten = rewriteReferences({ filters }, findTarget)
  expect([...rewritten.missing]).toEqual(['cohorts 9', 'actions 9'])
  expect([...rewritten.uses]).toEqual(['cohorts 1', 'cohorts 9', 'actions 9'])
  for (const [query, is_numbered] of [
    ['select 1 from events where person_id in cohort 3', true],
    ["select 1 where matchesAction('Paid')", true],
    ["select 'cohort'", false],
  ] as const) {
    const body = { kind: 'HogQLQuery', query }
    expect(rewriteReferences(body, findTarget)).toMatchObject({
      body,
      has_numbered_text: is_numbered,
    })
  }
})

test('a body that is nested without an end is refused', () => {
  const deep: unknown = JSON.parse(`${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`)
  expect(() => rewriteReferences({ deep }, findTarget)).toThrow(NestedTooDeeply)
})
