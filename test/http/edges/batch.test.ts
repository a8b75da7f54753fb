/** The home's side of the wire: each entry is stored once, whatever is repeated, lost or sent by whom. */
import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { createApiKey } from '../../../src/projects/keys/api-key.ts'
import { createProject } from '../../../src/projects/settings/project.ts'
import { openWorld, type World } from '../world.ts'
import { batchRequest, EDGE, entryOf, RECEIVED_AT, REPORT } from './wire.ts'

let world: World
let key = ''
beforeAll(async () => {
  world = await openWorld()
  key = world.first.personal_api_key
})
afterAll(() => world.close())

type Answer = { readonly status: number; readonly json: Readonly<Record<string, unknown>> }

async function post(init: RequestInit): Promise<Answer> {
  const answer = await world.send('/_edge/v1/batch', init)
  return { status: answer.status, json: (await answer.json()) as Answer['json'] }
}
const send = (text: string, changes: Readonly<Record<string, string>> = {}): Promise<Answer> =>
  post(batchRequest(key, text, changes))

/** Asks for copies of persons and groups. */
async function copies(body: object): Promise<Answer> {
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' }
  const init = { method: 'POST', headers, body: JSON.stringify(body) }
  const answer = await world.send('/_edge/v1/persons', init)
  return { status: answer.status, json: (await answer.json()) as Answer['json'] }
}

const epoch = (number: number) => ({ 'Tidemark-Epoch': number.toString(16).padStart(32, '0') })
const seen = (distinct_id: string, more: object = {}) => ({ event: 'seen', distinct_id, ...more })
const count = (distinct_id: string): number =>
  world.countEvents(`select count(*) as count from events where distinct_id = '${distinct_id}'`)

function rows(sql: string): readonly Readonly<Record<string, unknown>>[] {
  using db = new Database(join(world.data_dir, 'events.db'), { readonly: true })
  return db.query<Record<string, unknown>, []>(sql).all()
}

describe('an entry', () => {
  test('is stored with the time of receipt, the uuid and the properties of the edge', async () => {
    const uuid = '0193e000-0000-7000-8000-00000000abcd'
    const properties = { $ip: '203.0.113.7', $geoip_city_name: 'Rome', text: 'à la carte 🌊' }
    const events = [seen('ann', { uuid, properties, timestamp: RECEIVED_AT - 5 }), seen('ann')]
    const uuid_base = '0193e0000000700080000000ffffffff'
    expect(await send(entryOf(1, events, { uuid_base }), epoch(1))).toEqual({
      status: 200,
      json: { seq: 1, accepted: 2, repeated: 0, dropped: 0, keeps_order: true },
    })
    expect(
      rows(
        "select hex(uuid) as uuid, timestamp, created_at, properties from events where distinct_id = 'ann' order by seq",
      ),
    ).toEqual([
      {
        uuid: uuid.replaceAll('-', '').toUpperCase(),
        timestamp: RECEIVED_AT - 5,
        created_at: RECEIVED_AT,
        properties: JSON.stringify(properties),
      },
      // Without a uuid: that of the entry, plus the index of the event.
      {
        uuid: '0193E000000070008000000100000000',
        timestamp: RECEIVED_AT,
        created_at: RECEIVED_AT,
        properties: '{}',
      },
    ])
  })

  test('is stored once, however often it is sent, and in whichever batch', async () => {
    const first = entryOf(1, [seen('bob')])
    const second = entryOf(2, [seen('bob')])
    const third = entryOf(3, [seen('bob')])
    expect((await send(first + second, epoch(2))).json).toMatchObject({ seq: 2, accepted: 2 })
    expect((await send(first + second, epoch(2))).json).toMatchObject({ seq: 2, accepted: 0 })
    expect((await send(second + third, epoch(2))).json).toMatchObject({ seq: 3, accepted: 1 })
    expect((await send(first, epoch(2))).json).toMatchObject({ seq: 3, accepted: 0 })
    expect(count('bob')).toBe(3)
  })

  test('is stored once although many copies of its batch arrive at the same time', async () => {
    const text = Array.from({ length: 50 }, (_, index) => entryOf(index + 1, [seen('cleo')])).join(
      '',
    )
    const answers = await Promise.all(Array.from({ length: 8 }, () => send(text, epoch(3))))
    expect(answers.map(({ json }) => json['seq'])).toEqual(answers.map(() => 50))
    expect(count('cleo')).toBe(50)
  })

  test('is recognized by its number alone: events without a uuid are not stored again', async () => {
    await send(entryOf(1, [seen('gus')]), epoch(20))
    // Another base of uuids, as if the index of uuids had forgotten the first.
    expect((await send(entryOf(1, [seen('gus')]), epoch(20))).json).toEqual({
      seq: 1,
      accepted: 0,
      repeated: 0,
      dropped: 0,
      keeps_order: true,
    })
    expect(count('gus')).toBe(1)
  })

  test.each([
    ['1970', 0],
    ['2200', 7_258_118_400_000_000],
  ])('of an edge whose clock says %s is stored once, with its time', async (year, received_at) => {
    const uuid = `0193e000-0000-7000-8000-00000000${year}`
    const text = entryOf(1, [seen(`clock-${year}`, { uuid, timestamp: received_at })], {
      received_at,
    })
    expect((await send(text, epoch(Number(year)))).json).toMatchObject({ accepted: 1 })
    expect((await send(text, epoch(Number(year) + 1))).json).toMatchObject({ repeated: 1 })
    expect(rows(`select created_at from events where distinct_id = 'clock-${year}'`)).toEqual([
      { created_at: received_at },
    ])
    // The window of repeated uuids goes by the home's clock.
    const today = Math.floor(Date.now() / 86_400_000)
    expect(
      rows(
        `select received_day from event_uuids where hex(uuid) = '${uuid.replaceAll('-', '').toUpperCase()}'`,
      ),
    ).toEqual([{ received_day: today }])
  })

  test('of another epoch is recognized by the uuids of its events', async () => {
    const text = entryOf(1, [seen('dan', { uuid: '0193e000-0000-7000-8000-00000000dada' })])
    expect((await send(text, epoch(4))).json).toMatchObject({ seq: 1, accepted: 1, repeated: 0 })
    expect((await send(text, epoch(5))).json).toMatchObject({ seq: 1, accepted: 0, repeated: 1 })
    expect(count('dan')).toBe(1)
  })

  test('of a number that another epoch has used is another entry', async () => {
    await send(
      entryOf(7, [seen('eve', { uuid: '0193e000-0000-7000-8000-0000000000e1' })]),
      epoch(6),
    )
    await send(
      entryOf(7, [seen('eve', { uuid: '0193e000-0000-7000-8000-0000000000e2' })]),
      epoch(7),
    )
    expect(count('eve')).toBe(2)
  })

  test('with thousands of events is stored in slices, each with its position', async () => {
    const events = Array.from({ length: 8000 }, (_, index) =>
      seen('many', { properties: { index } }),
    )
    expect((await send(entryOf(1, events), epoch(8))).json).toEqual({
      seq: 1,
      accepted: 8000,
      repeated: 0,
      dropped: 0,
      keeps_order: true,
    })
    expect(count('many')).toBe(8000)
    expect((await send(entryOf(1, events), epoch(8))).json).toMatchObject({ accepted: 0 })
  })

  test('of a project that is gone is dropped and counted', async () => {
    const text = entryOf(1, [seen('gone')], { project: 4711 }) + entryOf(2, [seen('here')])
    expect((await send(text, epoch(9))).json).toEqual({
      seq: 2,
      accepted: 1,
      repeated: 0,
      dropped: 1,
      keeps_order: true,
    })
  })

  test('moves persons and definitions as a captured event does', async () => {
    const properties = { $set: { plan: 'pro' } }
    const update = { is_about_person: true, set: { plan: 'pro' }, set_once: {}, unset: [] }
    const text = JSON.stringify(properties)
    const head = [0, '$identify', 'fay', RECEIVED_AT, text.length, 0, 0, { update }]
    const names = { events: ['$identify'], properties: {} }
    const rest = { dropped: [['missing_event_name', 2]], warnings: [], names }
    const entry = entryOf(1, [{ event: '$identify', distinct_id: 'fay', properties }], {
      events: [head],
      rest,
    })
    expect((await send(entry, epoch(10))).status).toBe(200)
    const persons = rows(
      "select p.properties from persons p join distinct_ids d on d.person_id = p.id where d.distinct_id = 'fay'",
    )
    expect(persons.map((person) => JSON.parse(String(person['properties'])))).toMatchObject([
      { plan: 'pro' },
    ])
    expect(
      rows("select value from ingest_counters where name = 'dropped:missing_event_name'"),
    ).toEqual([{ value: 2 }])
  })

  test('of an older edge names automatic properties by the same bits', async () => {
    const properties = { utm_source: 'mail', $geoip_country_code: 'IT' }
    const { length } = JSON.stringify(properties)
    const marks = [1 << 14, 1 << 10]
    const head = [0, 'seen', 'gil', RECEIVED_AT, length, ...marks, 0]
    await send(entryOf(1, [seen('gil', { properties })], { events: [head] }), epoch(19))
    const [person] = rows(
      "select p.properties from persons p join distinct_ids d on d.person_id = p.id where d.distinct_id = 'gil'",
    )
    expect(JSON.parse(String(person?.['properties']))).toEqual({
      $creator_event_uuid: expect.any(String),
      utm_source: 'mail',
      $initial_utm_source: 'mail',
      $geoip_country_code: 'IT',
      $initial_geoip_country_code: 'IT',
    })
  })

  test('stores what a flag hashes instead of the distinct id, once, for ids that have a person', async () => {
    const overrides = [
      ['gus', 'keeps', 'first'],
      ['nobody', 'keeps', 'lost'],
    ]
    const update = { is_about_person: true, set: {}, set_once: {}, unset: [] }
    const head = [0, '$identify', 'gus', RECEIVED_AT, 2, 0, 0, { update }]
    const known = entryOf(1, [{ event: '$identify', distinct_id: 'gus' }], { events: [head] })
    const later = entryOf(3, [], { overrides: [['gus', 'keeps', 'second']] })
    const text = known + entryOf(2, [], { overrides }) + later
    expect((await send(text, epoch(11))).json).toMatchObject({ seq: 3 })
    expect((await send(text, epoch(11))).json).toMatchObject({ seq: 3 })
    const sql = "select hash_key from flag_overrides where flag_key = 'keeps'"
    expect(rows(sql)).toEqual([{ hash_key: 'first' }])
    const found = await copies({ ids: [[1, 'gus']] })
    expect(found.json['persons']).toMatchObject([{ overrides: { keeps: 'first' } }])
  })
})

describe('the rest of a request', () => {
  const warning = (index: number) => ({
    type: 'missing_event_name',
    key: `key ${index}`,
    details: { text: 'a'.repeat(5000), index },
  })
  test('has no more names, warnings and reasons than an edge sends', async () => {
    const rest = {
      dropped: [
        ...Array.from({ length: 1000 }, (_, index) => [`reason_${index}`, 1]),
        ['plugin', 3],
        ['plugin', 4],
      ],
      warnings: Array.from({ length: 1000 }, (_, index) => warning(index)),
      names: {
        events: Array.from({ length: 5000 }, (_, index) => `wired ${index}`),
        properties: Object.fromEntries(
          Array.from({ length: 5000 }, (_, index) => [`wired ${index}`, 1]),
        ),
      },
    }
    expect((await send(entryOf(1, [seen('rest')], { rest }), epoch(411))).status).toBe(200)
    const [counted] = rows(`select
      (select count(*) from event_definitions where name like 'wired %') as events,
      (select count(*) from property_definitions where name like 'wired %') as properties,
      (select count(*) from ingestion_warnings where details like '%aaaa%') as warnings,
      (select max(length(details)) from ingestion_warnings) < 1000 as are_short,
      (select count(*) from ingest_counters where name like 'dropped:reason%') as unknown,
      (select value from ingest_counters where name = 'dropped:plugin') as plugin`)
    expect(counted).toEqual({
      events: 2000,
      properties: 2000,
      warnings: 100,
      are_short: 1,
      unknown: 0,
      plugin: 3,
    })
  })
})

describe('a batch that follows one on its way', () => {
  const after = (seq: number) => ({ ...epoch(30), 'Tidemark-After': String(seq) })

  test('is not stored before it, and answered with the position; after it, it is', async () => {
    const [first, second] = [entryOf(1, [seen('hal')]), entryOf(2, [seen('hal')])]
    expect((await send(second, after(1))).json).toMatchObject({ seq: 0, accepted: 0 })
    expect(count('hal')).toBe(0)
    const both = await Promise.all([send(first, epoch(30)), send(second, after(1))])
    expect(both.map(({ status }) => status)).toEqual([200, 200])
    // Where the second one was first all the same, its edge sends it again.
    expect((await send(second, after(1))).json).toMatchObject({ seq: 2 })
    expect(count('hal')).toBe(2)
  })

  test('is refused with a number that is none', async () => {
    const answer = await send(entryOf(3, []), { 'Tidemark-After': '-1' })
    expect(answer).toMatchObject({ status: 400, json: { attr: 'Tidemark-After' } })
  })
})

describe('copies of persons', () => {
  test('are refused when they are too long together, so that the edge asks for fewer', async () => {
    const set = Object.fromEntries(
      Array.from({ length: 30 }, (_, index) => [`p${index}`, 'a'.repeat(20_000)]),
    )
    const update = { is_about_person: true, set, set_once: {}, unset: [] }
    const events = [[0, '$identify', 'wide', RECEIVED_AT, 2, 0, 0, { update }]]
    const [line = ''] = entryOf(1, [], { events }).split('\n')
    expect((await send(`${line}\n{}\n`, epoch(412))).json).toMatchObject({ accepted: 1 })
    const ids = (length: number) => ({ ids: Array.from({ length }, () => [1, 'wide']) })
    expect(await copies(ids(500))).toMatchObject({
      status: 413,
      json: { code: 'request_too_large' },
    })
    expect((await copies(ids(10))).status).toBe(200)
  })
})

describe('the copy of a group', () => {
  test('has its properties; null for one that is not there', async () => {
    const properties = { $group_type: 'company', $group_key: 'acme', $group_set: { size: 9 } }
    const event = { event: '$groupidentify', distinct_id: 'x', properties }
    const body = JSON.stringify({ api_key: world.first.api_token, ...event })
    const init = { method: 'POST', body }
    expect((await world.send('/capture/', init)).status).toBe(200)
    const groups = [
      [1, 0, 'acme'],
      [1, 0, 'none'],
    ]
    expect(await copies({ ids: [], groups })).toEqual({
      status: 200,
      json: { persons: [], groups: [{ size: 9 }, null] },
    })
  })

  test.each([
    ['ids', { ids: [[1]] }],
    ['groups', { ids: [], groups: [[1, 'company', 'acme']] }],
    ['groups', { ids: [], groups: Array.from({ length: 501 }, () => [1, 0, 'acme']) }],
  ])('is refused with malformed %s', async (attr, body) => {
    expect(await copies(body)).toMatchObject({ status: 400, json: { attr } })
  })

  test('is refused for a project that the key does not serve', async () => {
    expect((await copies({ ids: [], groups: [[99, 0, 'acme']] })).status).toBe(403)
  })
})

const nested = (entry: string, depth: number): string => {
  const text = `{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`
  const head = [0, 'seen', 'nobody', RECEIVED_AT, text.length, 0, 0, 0]
  const [line = ''] = entry.split('\n')
  return `${line.replace(/"events":\[\[.*\]\]/, `"events":${JSON.stringify([head])}`)}\n${text}\n`
}

/** An entry whose event changes its person; D in the JSON is a list of lists, `depth` levels deep. */
function changing(set: string, depth = 1): string {
  const update = { is_about_person: true, set: 'S', set_once: {}, unset: [] }
  const entry = entryOf(1, [], {
    events: [[0, 'seen', 'nobody', RECEIVED_AT, 2, 0, 0, { update }]],
  })
  const deep = `${'['.repeat(depth)}${']'.repeat(depth)}`
  const [line = ''] = entry.split('\n')
  return `${line.replace('"S"', set.replace('D', deep))}\n{}\n`
}

/** The property 7 becomes a number that is as long. */
function infinite(event: ReturnType<typeof seen>): string {
  const [line = '', texts = ''] = entryOf(1, [event]).split('\n')
  const length = texts.length + '1e999'.length - 1
  return `${line.replace(`,${texts.length},0,0,0]`, `,${length},0,0,0]`)}\n${texts.replace('7', '1e999')}\n`
}

describe('a batch is refused', () => {
  const entry = (): string => entryOf(1, [seen('nobody')])
  const breaking: readonly (readonly [what: string, text: () => string])[] = [
    ['without its last line', () => entry().slice(0, -1)],
    ['with a line of no JSON', () => '1 {]\n{}\n'],
    ['without a number', () => entry().slice(2)],
    ['with properties that are a list', () => entryOf(1, [seen('nobody', { properties: [] })])],
    [
      'with too few properties',
      () => entryOf(1, [seen('nobody')], { events: [[0, 'e', 'd', 1, 99, 0, 0, 0]] }),
    ],
    ['with half an escape', () => entryOf(1, [seen('nobody', { properties: { a: '\ud800' } })])],
    ['with an event that is none', () => entryOf(1, [], { events: [null] })],
    ['with a fractional time', () => entryOf(1, [], { events: [[0, 'e', 'd', 1.5, 0, 0, 0, 0]] })],
    [
      'with a malformed update',
      () => entryOf(1, [], { events: [[0, 'e', 'd', 1, 0, 0, 0, { update: 1 }]] }),
    ],
    ['with a negative project', () => entryOf(1, [seen('nobody')], { project: -1 })],
    ['with overrides that are none', () => entryOf(1, [], { overrides: [['nobody', 'keeps']] })],
    ['with a rest that is none', () => entryOf(1, [seen('nobody')], { rest: {} })],
    [
      'with hundreds of thousands of lists',
      () =>
        entryOf(1, [
          seen('nobody', { properties: { a: Array.from({ length: 300_000 }, () => []) } }),
        ]),
    ],
    [
      'with properties that are longer than those of an event',
      () => entryOf(1, [seen('nobody', { properties: { a: 'a'.repeat(1_100_000) } })]),
    ],
    ['with properties that nest too deeply', () => nested(entryOf(1, [seen('nobody')]), 200)],
    ['with a change that nests without an end', () => changing('{"a":D}', 100_000)],
    ['with a number that no query could read', () => changing('{"a":1e999}')],
    ['with an infinite property', () => infinite(seen('nobody', { properties: { a: 7 } }))],
    ['without an id', () => entryOf(1, [seen('')])],
    ['with an id of a megabyte', () => entryOf(1, [seen('a'.repeat(1_000_000))])],
    ['with a name of a megabyte', () => entryOf(1, [{ event: 'a'.repeat(1e6), distinct_id: 'a' }])],
  ]
  test.each(breaking)('%s', async (_what, text) => {
    const answer = await send(text(), epoch(100))
    expect(answer).toMatchObject({ status: 400, json: { code: 'invalid_payload' } })
    expect(count('nobody')).toBe(0)
  })

  test('after its first malformed entry; the entries before it stay', async () => {
    const text = entryOf(1, [seen('kept')]) + 'x\n{}\n' + entryOf(3, [seen('kept')])
    expect((await send(text, epoch(101))).status).toBe(400)
    expect((await send('', epoch(101))).json).toMatchObject({ seq: 1 })
    expect(count('kept')).toBe(1)
  })

  test.each([
    ['Tidemark-Edge', 'rome'],
    ['Tidemark-Epoch', ''],
    ['Tidemark-Digest', 'a'.repeat(64)],
    ['Tidemark-Report', '{}'],
  ])('with an invalid header %s', async (name, value) => {
    const answer = await send(entry(), { [name]: value })
    expect(answer).toMatchObject({ status: 400, json: { code: 'invalid_payload', attr: name } })
  })

  test('with an unknown encoding, or one that it does not have', async () => {
    expect((await send(entry(), { 'Content-Encoding': 'br' })).status).toBe(415)
    expect((await send(entry(), { 'Content-Encoding': 'gzip' })).status).toBe(400)
  })

  test('without a key, with a wrong one, and with one that lacks a scope', async () => {
    const { Authorization: _, ...bare } = batchRequest(key, entry()).headers as Record<
      string,
      string
    >
    expect((await post({ ...batchRequest(key, entry()), headers: bare })).status).toBe(401)
    expect((await post(batchRequest('phx_wrong', entry()))).status).toBe(401)
    const { control } = world.needs
    const { value } = createApiKey(
      control,
      {
        user_id: 1,
        label: 'x',
        scopes: ['project:write'],
        organization_id: null,
        project_id: null,
      },
      new Date(),
    )
    expect(await post(batchRequest(value, entry()))).toMatchObject({
      status: 403,
      json: { code: 'permission_denied' },
    })
  })

  test('for a project beyond its key; what comes before stays, and its edge goes on once it may', async () => {
    const { control } = world.needs
    const [{ organization_id, id } = { organization_id: '', id: 0 }] = control.all<{
      organization_id: string
      id: number
    }>('select organization_id, id from projects order by id')
    const other = createProject(control, { organization_id, name: 'Other' }, new Date())
    const { value } = createApiKey(
      control,
      { user_id: 1, label: 'x', scopes: ['*'], organization_id, project_id: id },
      new Date(),
    )
    const text = entryOf(1, [seen('mine')]) + entryOf(2, [seen('theirs')], { project: other.id })
    expect(await post(batchRequest(value, text, epoch(102)))).toMatchObject({
      status: 403,
      json: { code: 'permission_denied' },
    })
    expect([count('mine'), count('theirs')]).toEqual([1, 0])
    expect((await send(text, epoch(102))).json).toMatchObject({ seq: 2, accepted: 1 })
    expect([count('mine'), count('theirs')]).toEqual([1, 1])
  })
})

test('edges are listed with what they reported last', async () => {
  await send('', epoch(200))
  const answer = await world.send('/_edge/v1/edges', {
    headers: { Authorization: `Bearer ${key}` },
  })
  expect(await answer.json()).toMatchObject({
    results: [{ id: EDGE, name: 'rome-1', wire: 1, backlog_events: 0, lag_s: 0, projects: [1] }],
  })
})

test('what batches unpack to is charged before: further ones of the same user are to be sent again', async () => {
  const bomb = batchRequest(key, 'x'.repeat(16 * 1024 * 1024), epoch(203))
  const answers = await Promise.all(Array.from({ length: 64 }, () => post(bomb)))
  const statuses = new Set(answers.map(({ status }) => status))
  expect(statuses).toEqual(new Set([400, 503]))
  const busy = answers.find(({ status }) => status === 503)
  expect(busy?.json['detail']).toStartWith('Too many batches are waiting to be stored.')
  expect((await send(entryOf(1, [seen('after bombs')]), epoch(204))).status).toBe(200)
})

test('an edge reports only projects of its key, and a user has so many edges', async () => {
  const report = (projects: readonly number[]) => JSON.stringify({ ...REPORT, projects })
  await send('', { ...epoch(201), 'Tidemark-Report': report([1, 4711]) })
  expect(rows('select report from edge_reports')).toMatchObject([
    { report: JSON.stringify({ ...REPORT, projects: [1] }) },
  ])
  for (let number = 0; number < 110; number += 1) {
    // Also one whose batch is refused after its first entry has a position.
    const text = number % 2 === 0 ? '' : `${entryOf(1, [seen('many edges')])}2 x\n{}\n`
    const edge = { 'Tidemark-Edge': number.toString(16).padStart(32, '0') }
    expect((await send(text, { ...epoch(202), ...edge })).status).toBe(text === '' ? 200 : 400)
  }
  expect(rows('select report from edge_reports').length).toBe(100)
  const [positions] = rows('select count(distinct edge) as edges from edge_positions')
  expect(Number(positions?.['edges'])).toBeLessThanOrEqual(101)
})
