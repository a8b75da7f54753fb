/** Functions that are written in HogQL: actions, surveys, tuples opened into columns. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { compileHogQL } from '../../src/hogql/compile.ts'
import type { ActionReference } from '../../src/hogql/context.ts'
import { compare, constant, field } from '../../src/hogql/syntax/nodes.ts'
import { CONTEXT, openWorld, type World } from './engine.ts'

let world: World
beforeAll(async () => {
  world = await openWorld()
  const rows = EVENTS.map(
    ([uuid, event, properties], index) =>
      `(1, ${index}, '${idOf(uuid)}', '${event}', 'd', '${idOf(0)}', 'full', '2024-01-01 00:00:0${index}',
        '2024-01-01', '${JSON.stringify(properties)}', '', null, null, null, null, null)`,
  )
  await world.connection.run(`insert into all_events values ${rows.join(', ')}`)
})
afterAll(() => world.close())

const idOf = (number: number): string =>
  `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`

const SENT = { $survey_id: 's', $survey_submission_id: 'one' }
const EVENTS = [
  [1, 'survey sent', { ...SENT, $survey_response: 'early' }],
  [2, 'survey sent', { ...SENT, $survey_response: 'late', $survey_response_q1: 'by id' }],
  [3, 'survey sent', { $survey_id: 's', $survey_response_1: ['a', 'b'] }],
  [
    4,
    'survey sent',
    { $survey_id: 'other', $survey_questions: [{ id: 'q9' }], $survey_response_q9: 'found' },
  ],
  [5, 'paid', {}],
] as const

const paid: ActionReference = {
  id: 3,
  name: 'Paid',
  condition: (prefix) => compare(field([...prefix, 'event']), '==', constant('paid')),
}

const texts = async (query: string): Promise<unknown> =>
  (await world.ask(query, { actions: () => [paid, { ...paid, id: 4, name: 'twice' }] })).map(
    ([text]) => text,
  )

describe('getSurveyResponse', () => {
  test('reads by id, else by place, else not at all', async () => {
    const all = (call: string): Promise<unknown> =>
      texts(`select ${call} from events where event = 'survey sent' order by uuid`)
    expect(await all('getSurveyResponse(0)')).toEqual(['early', 'late', null, 'found'])
    expect(await all("getSurveyResponse(0, 'q1')")).toEqual(['early', 'by id', null, null])
    expect(await all('getSurveyResponse(1, NULL, true)')).toEqual([[], [], ['"a"', '"b"'], []])
  })

  test.each([
    ['getSurveyResponse(event)', 'needs the place of the question'],
    ["getSurveyResponse('x')", 'needs the place of the question'],
    ['getSurveyResponse(0, 5)', 'needs the id of the question as a text'],
    ["getSurveyResponse(0, 'a', event)", 'needs true or false'],
    ['getSurveyResponse()', "'getSurveyResponse' expects at least 1 argument, found 0"],
    ['uniqueSurveySubmissionsFilter(event)', 'needs constants'],
  ])('%s is refused', (call, sentence) => {
    expect(() => compileHogQL(`select ${call} from events`, CONTEXT)).toThrow(sentence)
  })
})

describe('uniqueSurveySubmissionsFilter', () => {
  test('keeps the last event of a submission, and all that name none', async () => {
    const kept = (filter: string): Promise<unknown> =>
      texts(`select toString(uuid) from events where ${filter} order by uuid`)
    expect(await kept("uniqueSurveySubmissionsFilter('s')")).toEqual([idOf(2), idOf(3)])
    expect(
      await kept("uniqueSurveySubmissionsFilter('s', '2024-01-01', '2024-01-01 00:00:00')"),
    ).toEqual([idOf(1)])
  })
})

describe('matchesAction', () => {
  test('is what holds for the events of the action, by id or by name', async () => {
    for (const named of ['3', "'Paid'"]) {
      const query = `select toString(uuid) from events where matchesAction(${named})`
      expect(await texts(query)).toEqual([idOf(5)])
    }
    expect(await texts('select countIf(not matchesAction(3)) from events')).toEqual(['4'])
  })

  test.each([
    ['matchesAction(9)', 'Could not find action with ID 9'],
    ["matchesAction('x')", "Could not find an action with the name 'x'"],
    ['matchesAction(event)', 'needs the id or the name of an action as a constant'],
  ])('%s is refused', (call, sentence) => {
    expect(() => compileHogQL(`select ${call} from events`, CONTEXT)).toThrow(sentence)
  })
})

describe('untuple', () => {
  test('makes a column of each item', async () => {
    const query = "select untuple((1, 'a')) as x, untuple(t) from (select (2, (3, 4)) as t)"
    expect(compileHogQL(query, CONTEXT).columns).toEqual(['x.1', 'x.2', 't.1', 't.2'])
    expect(await world.ask(query)).toEqual([['1', 'a', '2', { 1: '3', 2: '4' }]])
  })

  test.each([
    ['1 + untuple((1, 2))', 'untuple can only stand in the select list'],
    ['untuple(1)', 'untuple needs a tuple'],
  ])('%s is refused', (call, sentence) => {
    expect(() => compileHogQL(`select ${call}`, CONTEXT)).toThrow(sentence)
  })
})

test('rowNumberInAllBlocks counts the rows from 0', async () => {
  expect(await world.ask('select rowNumberInAllBlocks(), number from numbers(3)')).toEqual([
    ['0', '0'],
    ['1', '1'],
    ['2', '2'],
  ])
})
