/** Property filters in queries: versions, cleaned paths, what was clicked, what else people did, other tables. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { openWorld, type World } from '../../world.ts'

const NOW = new Date('2024-06-15T12:00:00Z')

/** What each user's one event of 10:00 says, by name; further events stand below. */
const USERS: Readonly<Record<string, object>> = {
  u1: { version: '1.2.3', $pathname: '/user/17/edit' },
  u2: { version: 'v1.2', $pathname: '/user/18/edit' },
  u3: { version: '1.10.0-beta.1', $pathname: '/about' },
  u4: { version: '2.0.0.7+build' },
  u5: { version: 'latest' },
  u6: {},
}

/** Innermost first. */
const CLICKS: Readonly<Record<string, readonly object[]>> = {
  u1: [
    { tag_name: 'span', $el_text: 'Buy now', nth_child: 1, nth_of_type: 1 },
    {
      tag_name: 'a',
      attr__class: 'primary btn',
      attr__href: '/buy?id=1',
      attr__id: 'buy',
      nth_child: 2,
      nth_of_type: 1,
    },
    { tag_name: 'div', attr__class: 'cart', 'attr__data-attr': 'cart; "x"' },
  ],
  u2: [
    { tag_name: 'button', $el_text: 'Cancel', attr__class: 'btn' },
    { tag_name: 'div', attr__class: 'modal' },
  ],
}

let world: World
beforeAll(async () => {
  world = await openWorld({ now: () => NOW })
  const users = Object.entries(USERS).map(([distinct_id, properties]) => ({
    event: 'seen',
    distinct_id,
    timestamp: '2024-06-15T10:00:00Z',
    properties: { ...properties, $elements: CLICKS[distinct_id] },
  }))
  const others = [
    ['u1', 'paid', '2024-06-14T10:00:00Z', { price: 5 }],
    ['u1', 'paid', '2024-06-13T10:00:00Z', { price: 50 }],
    ['u2', 'paid', '2024-06-13T10:00:00Z', { price: 50 }],
    ['u3', 'paid', '2024-05-01T10:00:00Z', { price: 50 }],
  ].map(([distinct_id, event, timestamp, properties]) => ({
    distinct_id,
    event,
    timestamp,
    properties,
  }))
  const body = JSON.stringify({
    api_key: world.first.api_token,
    batch: [...users, ...others],
    historical_migration: true,
  })
  expect((await world.send('/batch/', { method: 'POST', body })).status).toBe(200)
  const patched = await world.send('/api/projects/1/', {
    method: 'PATCH',
    headers: { ...headers(), 'Content-Type': 'application/json' },
    body: JSON.stringify({
      path_cleaning_filters: [{ regex: String.raw`/\d+`, alias: '/:id' }, { alias: 'unfinished' }],
    }),
  })
  expect(patched.status).toBe(200)
})
afterAll(() => world.close())

const headers = () => ({ Authorization: `Bearer ${world.first.personal_api_key}` })

/** Whose events a filter leaves, joined; the refusal when there is one. */
async function narrowed(filter: object, from = 'events'): Promise<string> {
  const query = `SELECT DISTINCT events.distinct_id FROM ${from}
    WHERE events.event = 'seen' AND {filters} ORDER BY 1`
  const answer = await world.send('/api/environments/1/query/', {
    method: 'POST',
    headers: headers(),
    body: JSON.stringify({
      query: { kind: 'HogQLQuery', query, filters: { properties: [filter] } },
      refresh: 'force_blocking',
    }),
  })
  const body = JSON.parse(await answer.text())
  if (answer.status !== 200) return `${answer.status} ${body.code} ${body.attr}: ${body.detail}`
  return body.results.map((row: readonly unknown[]) => row[0]).join(' ')
}

describe('a version', () => {
  const of = (operator: string, value: unknown) => narrowed({ key: 'version', operator, value })
  test.each([
    ['semver_eq', '1.2.3', 'u1'],
    ['semver_eq', '1.2.0', 'u2'],
    ['semver_neq', '1.2.3', 'u2 u3 u4 u5 u6'],
    ['semver_gt', '1.2.3', 'u3 u4'],
    ['semver_gte', '1.2.3', 'u1 u3 u4'],
    ['semver_lt', '1.10', 'u1 u2'],
    ['semver_lte', '1.10.0', 'u1 u2 u3'],
    ['semver_tilde', '1.2.0', 'u1 u2'],
    ['semver_tilde', '1.2.1', 'u1'],
    ['semver_caret', '1.2.3', 'u1 u3'],
    ['semver_wildcard', '1.*', 'u1 u2 u3'],
    ['semver_wildcard', '1.2.*', 'u1 u2'],
    ['semver_wildcard', '*', 'u1 u2 u3 u4'],
  ])('%s %s leaves %s', async (operator, value, who) => {
    expect(await of(operator, value)).toBe(who)
  })

  test.each([
    ['semver_gt', 'latest'],
    ['semver_caret', '1..x'],
    ['semver_wildcard', '*.1'],
  ])('%s %s is refused', async (operator, value) => {
    expect(await of(operator, value)).toBe(
      `400 invalid_input query__filters__properties: Not a version: ${JSON.stringify(value)}`,
    )
  })
})

test('many values are compared as few are', async () => {
  const many = Array.from({ length: 50 }, (_, count) => `0.0.${count}`)
  const of = (key: string, operator: string, value: readonly unknown[]) =>
    narrowed({ key, operator, value })
  for (const operator of ['exact', 'in']) {
    expect(await of('version', operator, [...many, '1.2.3', 'latest'])).toBe('u1 u5')
    expect(await of('version', operator, many)).toBe('')
  }
  for (const operator of ['is_not', 'not_in']) {
    expect(await of('version', operator, [...many, '1.2.3', 'latest'])).toBe('u2 u3 u4 u6')
  }
  const numbers = Array.from({ length: 50 }, (_, count) => count)
  const paid = { type: 'behavioral', key: 'paid', value: 'performed_event', time_value: 1000 }
  const cheap = { key: 'price', operator: 'exact', value: numbers }
  expect(await narrowed({ ...paid, event_filters: [cheap] })).toBe('u1')
  expect(await narrowed({ ...paid, event_filters: [{ ...cheap, operator: 'is_not' }] })).toBe(
    'u1 u2 u3',
  )
})

test('more filters or values than anybody reads are refused', async () => {
  const value = Array.from({ length: 4000 }, (_, count) => `v${count}`)
  const told =
    '400 invalid_input query__filters__properties: Property filters have more than 3000 parts.'
  expect(await narrowed({ key: 'version', value })).toBe(told)
  const values = value.map((text) => ({ key: 'version', value: text }))
  expect(await narrowed({ type: 'OR', values })).toBe(told)
  expect(await narrowed({ key: 'version', value: value.slice(0, 2900) })).toBe('')
})

test('a path is compared as the project cleans it', async () => {
  const of = (value: unknown) =>
    narrowed({ key: '$pathname', operator: 'is_cleaned_path_exact', value })
  expect(await of('/user/:id/edit')).toBe('u1 u2')
  expect(await of(['/user/:id/edit', '/about'])).toBe('u1 u2 u3')
  // The value is cleaned too: it may be an address as it was visited.
  expect(await of('/user/17/edit')).toBe('u1 u2')
  expect(await of('/user/17')).toBe('')
})

describe('an element', () => {
  test.each([
    [{ key: 'selector', operator: 'exact', value: 'a.btn' }, 'u1'],
    [{ key: 'selector', value: '.btn' }, 'u1 u2'],
    [{ key: 'selector', value: 'div.cart > a.primary.btn#buy span' }, 'u1'],
    [{ key: 'selector', value: 'div.cart > span' }, ''],
    [{ key: 'selector', value: '[data-attr=\'cart; "x"\']' }, 'u1'],
    [{ key: 'selector', value: ['.modal button', '.nothing'] }, 'u2'],
    [{ key: 'selector', operator: 'is_not', value: '.btn' }, 'u3 u4 u5 u6'],
    [{ key: 'tag_name', operator: 'exact', value: 'button' }, 'u2'],
    [{ key: 'tag_name', value: ['button', 'span'] }, 'u1 u2'],
    [{ key: 'tag_name', operator: 'is_not', value: 'div' }, 'u3 u4 u5 u6'],
    [{ key: 'text', operator: 'exact', value: 'Buy now' }, 'u1'],
    [{ key: 'text', operator: 'icontains', value: 'CAN' }, 'u2'],
    [{ key: 'text', operator: 'regex', value: '^(Buy|Cancel)' }, 'u1 u2'],
    [{ key: 'text', operator: 'is_not', value: 'Cancel' }, 'u1 u3 u4 u5 u6'],
    [{ key: 'text', operator: 'not_icontains', value: 'n' }, 'u3 u4 u5 u6'],
    [{ key: 'text', operator: 'is_set' }, 'u1 u2'],
    [{ key: 'href', operator: 'exact', value: '/buy?id=1' }, 'u1'],
    [{ key: 'href', operator: 'icontains', value: 'BUY' }, 'u1'],
    [{ key: 'href', operator: 'is_not_set' }, 'u2 u3 u4 u5 u6'],
  ])('%j leaves %s', async (filter, who) => {
    expect(await narrowed({ ...filter, type: 'element' })).toBe(who)
  })

  test.each([
    [
      { key: 'smell', value: 'x' },
      '400 invalid_input query__filters__properties: Elements have no "smell" to filter by.',
    ],
    [
      { key: 'tag_name', operator: 'gt', value: 'x' },
      '400 invalid_input query__filters__properties: tag_name can be exact or is_not, but not gt.',
    ],
    [
      { key: 'selector', value: 'a >' },
      '400 invalid_input query__filters__properties: Not a selector: "a >"',
    ],
  ])('%j is refused: %s', async (filter, told) => {
    expect(await narrowed({ ...filter, type: 'element' })).toBe(told)
  })
})

describe('a behavior', () => {
  const PAID = { type: 'behavioral', key: 'paid', event_type: 'events', value: 'performed_event' }
  const WEEK = { time_value: 7, time_interval: 'day' }
  test.each([
    [{ ...PAID, ...WEEK }, 'u1 u2'],
    [{ ...PAID, ...WEEK, negation: true }, 'u3 u4 u5 u6'],
    [{ ...PAID, time_value: '2', time_interval: 'month' }, 'u1 u2 u3'],
    [{ ...PAID, explicit_datetime: '2024-06-14' }, 'u1'],
    [
      { ...PAID, ...WEEK, value: 'performed_event_multiple', operator: 'gte', operator_value: 2 },
      'u1',
    ],
    [{ ...PAID, ...WEEK, event_filters: [{ key: 'price', operator: 'lt', value: 10 }] }, 'u1'],
  ])('%j leaves %s', async (filter, who) => {
    expect(await narrowed(filter)).toBe(who)
  })

  test.each([
    { ...PAID, event_type: 'actions' },
    { ...PAID, time_interval: 'moon' },
    { ...PAID, value: 'restarted_performing_event' },
    { ...PAID, value: 'performed_event_multiple', operator_value: 'often' },
  ])('%j is refused by name', async (filter) => {
    expect(await narrowed(filter)).toStartWith('400 invalid_input query__filters__properties: ')
  })
})

test.each(['recording', 'log_entry'])('there is no %s to compare with', async (type) => {
  const everybody = Object.keys(USERS).join(' ')
  const of = (operator: string) => narrowed({ type, key: 'level', operator, value: 'x' })
  for (const operator of ['exact', 'icontains', 'regex', 'gt', 'is_set']) {
    expect(await of(operator)).toBe('')
  }
  for (const operator of ['is_not', 'not_icontains', 'not_regex', 'is_not_set']) {
    expect(await of(operator)).toBe(everybody)
  }
})

test('another table of the query is filtered by its columns; one there is not is named', async () => {
  const from = 'events JOIN persons AS p ON p.id = events.person_id'
  const filter = { type: 'data_warehouse', key: 'p.is_identified', operator: 'is_set' }
  expect(await narrowed(filter, from)).toBe('u1 u2 u3 u4 u5 u6')
  expect(await narrowed({ ...filter, key: 'stripe.id' })).toContain('stripe')
})

test('groups of filters may be nested, but not without end', async () => {
  const nested = (depth: number): object =>
    depth === 0
      ? { key: 'version', value: '1.2.3' }
      : { type: depth % 2 === 0 ? 'AND' : 'OR', values: [nested(depth - 1)] }
  expect(await narrowed(nested(4))).toBe('u1')
  expect(await narrowed(nested(40))).toBe(
    '400 invalid_input query__filters__properties: Property filters are nested too deep.',
  )
})
