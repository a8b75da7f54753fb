/** The shapes of decide 1–4 and flags 1–2 from one evaluation. */
import { describe, expect, test } from 'bun:test'
import { PostHog } from 'posthog-node'
import { evaluateFlags } from '../../src/flags/evaluate.ts'
import { type DecideVersion, decideVersion } from '../../src/flags/response.ts'
import type { Evaluation } from '../../src/flags/result.ts'
import { decideText, makeDefinitions, makeFlag, makePerson } from './make.ts'

const payloads = { true: '{"a":1}', test: '"t"' }
const definitions = makeDefinitions([
  makeFlag({ id: 11, key: 'on', filters: { groups: [{}], payloads }, version: 3 }),
  makeFlag({ id: 12, key: 'off', filters: { groups: [{ rollout_percentage: 0 }], payloads } }),
  makeFlag({
    id: 13,
    key: 'multi',
    version: null,
    filters: {
      groups: [{}],
      multivariate: { variants: [{ key: 'test', rollout_percentage: 100 }] },
      payloads,
    },
  }),
  makeFlag({ id: 14, key: 'broken', filters: null }),
  makeFlag({ id: 15, key: 'inactive', active: false }),
  makeFlag({
    id: 16,
    key: '__proto__',
    filters: { groups: [{}], payloads: { true: { not: 'text' } } },
  }),
])
const evaluation = evaluateFlags(definitions, makePerson())

/** As it goes over the wire. */
const decide = (decided: Evaluation, version: DecideVersion) =>
  JSON.parse(`{${decideText(decided, version)}}`)

const third = JSON.parse(`{
  "featureFlags": { "on": true, "off": false, "multi": "test", "__proto__": true },
  "featureFlagPayloads": { "on": "{\\"a\\":1}", "multi": "\\"t\\"", "__proto__": { "not": "text" } },
  "errorsWhileComputingFlags": true
}`)

const details = (key: string, id: number, part: object, metadata: object = {}) => ({
  key,
  enabled: true,
  variant: null,
  reason: { code: 'condition_match', condition_index: 0, description: 'Matched condition set 1' },
  metadata: { id, payload: null, version: 1, description: null, ...metadata },
  ...part,
})

const fourth = {
  flags: Object.fromEntries([
    ['on', details('on', 11, {}, { payload: '{"a":1}', version: 3 })],
    [
      'off',
      details('off', 12, {
        enabled: false,
        reason: {
          code: 'out_of_rollout_bound',
          condition_index: 0,
          description: 'Out of rollout bound',
        },
      }),
    ],
    ['multi', details('multi', 13, { variant: 'test' }, { payload: '"t"', version: 0 })],
    [
      'broken',
      details('broken', 14, {
        enabled: false,
        failed: true,
        reason: { code: 'invalid_definition', condition_index: null, description: null },
      }),
    ],
    ['__proto__', details('__proto__', 16, {}, { payload: { not: 'text' } })],
  ]),
  errorsWhileComputingFlags: true,
}

describe('decide', () => {
  test('1 lists the keys of flags that are on', () => {
    expect(decide(evaluation, 1)).toEqual({
      featureFlags: ['on', 'multi', '__proto__'],
    })
  })

  test('2 lists the values of flags that are on', () => {
    const expected = JSON.parse('{"featureFlags":{"on":true,"multi":"test","__proto__":true}}')
    expect(decide(evaluation, 2)).toEqual(expected)
  })

  test('3 lists all that could be evaluated, the payloads of those on, and whether one failed', () => {
    expect(decide(evaluation, 3)).toEqual(third)
  })

  test('4 tells the reason of each, failed ones included', () => {
    expect(decide(evaluation, 4)).toEqual(fourth)
  })

  test.each([
    [null, 1],
    [undefined, 1],
    ['1', 1],
    ['2', 2],
    ['3', 3],
    ['4', 4],
    ['5', 4],
    ['0', 1],
    ['-1', 1],
    ['', 2],
    ['abc', 2],
    ['3.5', 2],
    ['99999999999999999999', 4],
  ])('with v=%p answers as version %p', (v, version) => {
    expect(decideVersion(v)).toBe(version as 1 | 2 | 3 | 4)
  })
})

test('a project without flags is answered with an empty object', () => {
  const none = evaluateFlags(makeDefinitions([]), makePerson())
  expect(decide(none, 4)).toEqual({ flags: {}, errorsWhileComputingFlags: false })
})

describe('an unmodified posthog-node that asks the server', () => {
  test('reads values, payloads and reasons from what flags answers', async () => {
    const asked: unknown[] = []
    const server = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch: async (request) => {
        if (new URL(request.url).pathname !== '/flags/') return Response.json({ status: 1 })
        asked.push(await request.json())
        const requestId = '0193e000-0000-7000-8000-000000000001'
        return Response.json({ ...decide(evaluation, 4), requestId })
      },
    })
    const client = new PostHog('phc_test', { host: `http://127.0.0.1:${server.port}` })
    const answer = await client.getAllFlagsAndPayloads('user_1')
    await client.shutdown()
    await server.stop(true)
    expect(asked).toMatchObject([{ token: 'phc_test', distinct_id: 'user_1' }])
    expect(answer.featureFlags).toMatchObject({ on: true, off: false, multi: 'test' })
    expect(answer.featureFlagPayloads).toMatchObject({ on: { a: 1 }, multi: 't' })
  })
})

describe('writeDecide', () => {
  test('writes JSON for odd keys, and for a caller who selects nothing', () => {
    const odd = makeDefinitions([
      makeFlag({ key: 'on' }),
      makeFlag({ key: '"quoted"', filters: { groups: [{}], payloads: { true: '{"a":1}' } } }),
      makeFlag({ key: '__proto__', filters: { groups: [{}], payloads: { true: [1, '"'] } } }),
      makeFlag({ key: 'broken', filters: 7 }),
      makeFlag({ key: 'off', filters: { groups: [{ rollout_percentage: 0 }] } }),
    ])
    const all = JSON.parse(
      '{"featureFlags":{"on":true,"\\"quoted\\"":true,"__proto__":true,"off":false},"featureFlagPayloads":{"\\"quoted\\"":"{\\"a\\":1}","__proto__":[1,"\\""]},"errorsWhileComputingFlags":true}',
    )
    expect(decide(evaluateFlags(odd, makePerson()), 3)).toEqual(all)
    const none = evaluateFlags(odd, makePerson(), NOTHING_SELECTED)
    expect(decide(none, 1)).toEqual({ featureFlags: [] })
    expect(decide(none, 2)).toEqual({ featureFlags: {} })
    const without_errors = { errorsWhileComputingFlags: false }
    expect(decide(none, 3)).toEqual({
      featureFlags: {},
      featureFlagPayloads: {},
      ...without_errors,
    })
    expect(decide(none, 4)).toEqual({ flags: {}, ...without_errors })
  })
})

const NOTHING_SELECTED = { flag_keys: [], evaluation_runtime: null, evaluation_contexts: null }
