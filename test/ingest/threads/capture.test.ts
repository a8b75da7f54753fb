/** What an answer promises: committed, once, all of a request or none of it, whatever happens to others (contract C1–C5). */

import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { CaptureAnswer } from '../../../src/ingest/threads/messages.ts'
import { EVENTS_MIGRATIONS } from '../../../src/storage/sqlite/sql-files.ts'
import { Folder, NOW, OTHER_TOKEN, STORED_ONE, TOKEN } from '../folder.ts'

let folder: Folder
beforeEach(async () => {
  folder = new Folder()
  await folder.open()
})
afterEach(() => folder.remove())

const one = (event = 'seen', distinct_id = 'u') => ({ api_key: TOKEN, event, distinct_id })

/** Why a promise was rejected; '' when it was not. */
const reasonOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => '',
    (error: unknown) => String(error),
  )

describe('an answer', () => {
  test('comes after the commit: the event can be read at once', async () => {
    for (let count = 1; count <= 20; count += 1) {
      expect(await folder.send(one())).toEqual(STORED_ONE)
      expect(folder.rows('select 1 from events')).toHaveLength(count)
    }
  })

  test('is given to each of many requests sent at once', async () => {
    const answers = await Promise.all(
      Array.from({ length: 500 }, (_, index) => folder.send(one(`e${index}`, `u${index % 7}`))),
    )
    expect(answers).toEqual(answers.map(() => STORED_ONE))
    expect(folder.rows('select distinct event from events')).toHaveLength(500)
    expect(folder.rows('select seq from events order by seq').map((row) => row['seq'])).toEqual(
      Array.from({ length: 500 }, (_, index) => index + 1),
    )
  })

  test('says first events once per project, and again for known projects at the next start', async () => {
    await folder.send(one())
    await folder.send(one())
    await folder.send({ ...one(), api_key: OTHER_TOKEN })
    expect(folder.first_events).toEqual([1, 2])
    await folder.capture.close()
    await folder.open()
    expect(folder.first_events).toEqual([1, 2, 1, 2])
  })
})

describe('exactly once', () => {
  const uuid = '0193e000-0000-4000-8000-00000000aaaa'
  test.each<[string, object]>([
    ['in another request', { ...one(), uuid }],
    ['in capital letters', { ...one(), uuid: uuid.toUpperCase() }],
    ['with other contents', { ...one('other', 'v'), uuid }],
    [
      'twice in one batch',
      {
        api_key: TOKEN,
        batch: [
          { ...one(), uuid },
          { ...one(), uuid },
        ],
      },
    ],
  ])('a uuid sent again %s is not stored again', async (_, again) => {
    await folder.send({ ...one(), uuid })
    expect(await folder.send(again)).toMatchObject({ kind: 'stored', accepted: 0 })
    expect(folder.events()).toHaveLength(1)
  })

  test('holds after a restart', async () => {
    await folder.send({ ...one(), uuid })
    await folder.capture.close()
    await folder.open()
    expect(await folder.send({ ...one(), uuid })).toEqual({
      kind: 'stored',
      accepted: 0,
      dropped: 0,
      repeated: 1,
    })
  })

  test('holds after the event left the log for a file', async () => {
    await folder.send({ ...one(), uuid })
    await folder.capture.commitFiles({ flushed_seq: 1, added: [], removed: [] })
    await folder.capture.trim(1)
    expect(folder.events()).toEqual([])
    expect(await folder.send({ ...one(), uuid })).toMatchObject({ accepted: 0, repeated: 1 })
    expect(await folder.send(one())).toEqual(STORED_ONE)
    expect(folder.rows('select seq from events')).toEqual([{ seq: 2 }])
  })

  test('is a matter of one project', async () => {
    await folder.send({ ...one(), uuid })
    expect(await folder.send({ ...one(), api_key: OTHER_TOKEN, uuid })).toEqual(STORED_ONE)
  })
})

describe('a request that cannot be written', () => {
  const poison =
    "create trigger poison before insert on events when new.event = 'poison' begin select raise(abort, 'poison'); end"

  test('fails alone; the others of its commit are stored, with their persons', async () => {
    folder.run(poison)
    const requests = Array.from({ length: 40 }, (_, index) =>
      folder.send({
        api_key: TOKEN,
        batch: [
          { event: 'good', distinct_id: `u${index}`, properties: { $set: { index } } },
          { event: index % 10 === 3 ? 'poison' : 'good', distinct_id: `v${index}` },
        ],
      }),
    )
    const outcomes = await Promise.allSettled(requests)
    const failed = outcomes.flatMap((outcome, index) =>
      outcome.status === 'rejected' ? [index] : [],
    )
    expect(failed).toEqual([3, 13, 23, 33])
    expect(folder.rows("select 1 from events where event = 'good'")).toHaveLength(72)
    expect(folder.person('u3')).toBeNull()
    expect(folder.person('u4')?.properties).toMatchObject({ index: 4 })
    expect(folder.rows('select 1 from persons')).toHaveLength(72)
    expect(folder.rows('select value from ingest_counters')).toEqual([{ value: 72 }])
  })

  test('leaves nothing behind in memory', async () => {
    folder.run(poison)
    const uuid = '0193e000-0000-4000-8000-00000000bbbb'
    const bad = {
      api_key: TOKEN,
      batch: [
        {
          event: 'named',
          distinct_id: 'u',
          properties: { p: 1, $set: { a: 1 }, $groups: { company: 'x' } },
          uuid,
        },
        { event: '$identify', distinct_id: 'w', properties: { $anon_distinct_id: 'u' } },
        { event: 'poison', distinct_id: 'u' },
      ],
    }
    expect(await reasonOf(folder.send(bad))).toContain('poison')
    expect(folder.first_events).toEqual([])
    folder.run('drop trigger poison')
    expect(await folder.send(bad)).toEqual({ kind: 'stored', accepted: 3, dropped: 0, repeated: 0 })
    expect(folder.partition()).toEqual([['u', 'w']])
    expect(folder.rows('select name from event_definitions order by 1')).toHaveLength(3)
    expect(folder.rows('select 1 from group_types')).toHaveLength(1)
    expect(folder.first_events).toEqual([1])
  })

  test('waits for another writer of the database', async () => {
    await folder.send(one())
    const db = new Database(join(folder.path, 'events.db'))
    db.run('begin immediate')
    const pending = folder.send(one())
    db.run('rollback')
    db.close()
    expect(await pending).toEqual(STORED_ONE)
  })
})

describe('tokens', () => {
  const control = (sql: string) => {
    const db = new Database(join(folder.path, 'control.db'))
    db.run(sql)
    db.close()
  }

  test('that are reset or deleted stop at once, new ones work at once', async () => {
    expect(await folder.send(one())).toEqual(STORED_ONE)
    control("update projects set api_token = 'phc_new' where id = 1")
    expect(await folder.send(one())).toMatchObject({ code: 'invalid_api_key' })
    expect(await folder.send({ ...one(), api_key: 'phc_new' })).toEqual(STORED_ONE)
    control('delete from projects where id = 1')
    expect(await folder.send({ ...one(), api_key: 'phc_new' })).toMatchObject({
      code: 'invalid_api_key',
    })
  })
})

describe('order', () => {
  test('a migration is stored in its order, with its times', async () => {
    const requests = Array.from({ length: 30 }, (_, request) =>
      folder.send({
        api_key: TOKEN,
        historical_migration: true,
        batch: Array.from({ length: 100 }, (_unused, index) => ({
          event: `${request}-${index}`,
          distinct_id: 'same',
          timestamp: new Date(Date.parse('2020-01-01') + request * 1000 + index).toISOString(),
        })),
      }),
    )
    await Promise.all(requests)
    const times = folder.events().map((event) => event.timestamp)
    expect(times).toHaveLength(3000)
    expect(times).toEqual(times.toSorted())
    expect(folder.warnings()).toEqual([])
  })

  test('who sends too much is stored behind the others, and told', async () => {
    const spike = Array.from({ length: 60 }, () =>
      folder.send({
        api_key: TOKEN,
        batch: Array.from({ length: 50 }, () => ({ event: 'spike', distinct_id: 'loud' })),
      }),
    )
    const quiet = folder.send(one('quiet', 'silent'))
    const answers = await Promise.all([...spike, quiet])
    expect(answers.every((answer) => answer.kind === 'stored')).toBe(true)
    expect(folder.rows("select 1 from events where event = 'spike'")).toHaveLength(3000)
    const [row] = folder.rows("select seq from events where event = 'quiet'")
    // Those of the first message, 32 requests, may be in a commit before the quiet one comes.
    expect(Number(row?.['seq'])).toBeLessThan(2000)
    expect(folder.warnings()).toEqual(['ingestion_capacity_overflow'])
  })

  test('a body of very many events lets others through before it is done', async () => {
    const many = folder.send({
      api_key: TOKEN,
      batch: Array.from({ length: 60_000 }, (_, index) => ({
        event: 'many',
        distinct_id: `m${index % 500}`,
      })),
    })
    await Bun.sleep(1)
    let is_many_done = false
    const done = many.then((answer) => {
      is_many_done = true
      return answer
    })
    await folder.send(one('quick'))
    expect(is_many_done).toBe(false)
    expect(await done).toEqual({ kind: 'stored', accepted: 60_000, dropped: 0, repeated: 0 })
  })
})

describe('the data folder', () => {
  test('opened again after a close has every answered event and an empty write-ahead log', async () => {
    await Promise.all(Array.from({ length: 100 }, (_, index) => folder.send(one(`e${index}`))))
    await folder.capture.close()
    expect(Bun.file(join(folder.path, 'events.db-wal')).size).toBe(0)
    await folder.open()
    expect(folder.events()).toHaveLength(100)
    expect(await folder.send(one())).toEqual(STORED_ONE)
  })

  test('after kill -9 in the middle of it has every answered event, once', async () => {
    const script = join(folder.path, 'sender.ts')
    await folder.capture.close()
    const entry = join(import.meta.dir, '../../../src/ingest/threads/capture.ts')
    writeFileSync(
      script,
      `import { openCapture } from ${JSON.stringify(entry)}
const capture = await openCapture({ data_dir: ${JSON.stringify(folder.path)}, log: { error: console.error } })
const request = { path: '/batch', query: '', content_type: '', content_encoding: '', client_ip: '', received_at_ms: Date.now() }
async function lane(name: number) {
  for (let index = 0; ; index += 1) {
    const event = \`\${name}-\${index}\`
    const body = new TextEncoder().encode(JSON.stringify({ api_key: '${TOKEN}', event, distinct_id: \`d\${index % 50}\` }))
    const answer = await capture.send({ ...request, body })
    if (answer.kind === 'stored') process.stdout.write(event + '\\n')
  }
}
for (let name = 0; name < 8; name += 1) lane(name)
`,
    )
    const child = Bun.spawn([process.execPath, script], { stdout: 'pipe', stderr: 'inherit' })
    const reader = child.stdout.getReader()
    let answered = ''
    while (answered.length < 20_000) {
      const { value, done } = await reader.read()
      if (done) break
      answered += Buffer.from(value).toString()
    }
    child.kill('SIGKILL')
    await child.exited
    const lines = answered.split('\n').slice(0, -1)
    await folder.open()
    const stored = folder.rows('select event from events').map((row) => row['event'])
    const known = new Set(stored)
    expect(known.size).toBe(stored.length)
    expect(lines.filter((line) => !known.has(line))).toEqual([])
    expect(lines.length).toBeGreaterThan(1000)
  })

  test('that is damaged stops ingestion and says so', async () => {
    await folder.send(one())
    await folder.capture.close()
    const db = new Database(join(folder.path, 'events.db'))
    const [row] = db
      .query<{ rootpage: number }, []>(
        "select rootpage from sqlite_schema where name = 'event_uuids'",
      )
      .all()
    const [page] = db.query<{ page_size: number }, []>('pragma page_size').all()
    db.close()
    const file = Bun.file(join(folder.path, 'events.db'))
    const bytes = new Uint8Array(await file.arrayBuffer())
    const at = ((row?.rootpage ?? 1) - 1) * (page?.page_size ?? 4096)
    bytes.fill(0xff, at, at + 200)
    writeFileSync(join(folder.path, 'events.db'), bytes)
    await folder.open()
    expect(await folder.send(one())).toMatchObject({ kind: 'refused', code: 'storage_unavailable' })
    expect(folder.broken).toEqual([expect.stringContaining('"tidemark restore"')])
    expect(await folder.send(one())).toMatchObject({ kind: 'refused', code: 'storage_unavailable' })
  })

  test('of a newer program, whose files this one may read wrongly, is refused', async () => {
    await folder.capture.close()
    const version = EVENTS_MIGRATIONS.length
    folder.run(`pragma user_version = ${version + 1}`)
    expect(await reasonOf(folder.open())).toContain(
      `events.db has schema version ${version + 1}, this executable knows ${version}: run a newer tidemark`,
    )
  })

  test('without control.db cannot be opened', async () => {
    const empty = new Folder()
    await Bun.file(join(empty.path, 'control.db')).delete()
    expect(await reasonOf(empty.open())).toContain('unable to open')
    await empty.remove()
  })
})

describe('the manifest', () => {
  const file = {
    id: 'f1',
    project_id: 1,
    month: '2026-03',
    first_seq: 1,
    last_seq: 2,
    row_count: 2,
    byte_count: 10,
    sha256: 'x',
    min_timestamp: NOW,
    max_timestamp: NOW,
    created_at: NOW,
    columns: '[]',
    layout: 'whole' as const,
    own: '',
  }

  test('takes files and the sequence they cover in one step', async () => {
    await Promise.all([folder.send(one()), folder.send(one()), folder.send(one())])
    await folder.capture.commitFiles({ flushed_seq: 2, added: [file], removed: [] })
    expect(folder.rows('select version, flushed_seq, trimmed_seq from manifest')).toEqual([
      { version: 1, flushed_seq: 2, trimmed_seq: 0 },
    ])
    await folder.capture.trim(2)
    expect(folder.rows('select seq from events')).toEqual([{ seq: 3 }])
    await folder.capture.commitFiles({
      flushed_seq: null,
      added: [{ ...file, id: 'f2' }],
      removed: ['f1'],
    })
    expect(folder.rows('select id from files')).toEqual([{ id: 'f2' }])
    expect(folder.rows('select version, flushed_seq, trimmed_seq from manifest')).toEqual([
      { version: 2, flushed_seq: 2, trimmed_seq: 2 },
    ])
  })

  test('refuses to trim what no file holds', async () => {
    await folder.send(one())
    expect(await reasonOf(folder.capture.trim(1))).toContain('refusing to trim')
    expect(folder.events()).toHaveLength(1)
  })

  test('is not changed by files that are there already', async () => {
    await folder.capture.commitFiles({ flushed_seq: 0, added: [file], removed: [] })
    const again = folder.capture.commitFiles({ flushed_seq: 0, added: [file], removed: [] })
    expect(await reasonOf(again)).toContain('UNIQUE')
    expect(await folder.send(one())).toEqual(STORED_ONE)
    expect(folder.rows('select version from manifest')).toEqual([{ version: 1 }])
  })
})

describe('a limit for all that is in flight', () => {
  const bodyOf = (api_key: string, bytes: number) => ({
    api_key,
    event: 'e',
    distinct_id: 'd',
    properties: { text: 'x'.repeat(bytes) },
  })
  const kindsOf = async (answers: readonly Promise<CaptureAnswer>[]) =>
    (await Promise.all(answers)).map(({ kind }) => kind)

  test('is shared: whoever has most of it is refused, others are not', async () => {
    const small = new Folder()
    await small.open({ in_flight_bytes_max: 1_000_000 })
    const send = (api_key: string, bytes: number, client_ip: string) =>
      small.send(bodyOf(api_key, bytes), { client_ip })
    const kinds = await kindsOf([
      send(TOKEN, 400_000, '1.1.1.1'),
      send(TOKEN, 200_000, '1.1.1.2'),
      // The project has two thirds; the second one has nothing yet.
      send(TOKEN, 200_000, '1.1.1.3'),
      send(OTHER_TOKEN, 200_000, '1.1.1.4'),
      send(OTHER_TOKEN, 100, '1.1.1.4'),
    ])
    expect(kinds).toEqual(['stored', 'stored', 'refused', 'stored', 'stored'])
    expect(await kindsOf([send(TOKEN, 600_000, '1.1.1.1')])).toEqual(['stored'])
    await small.remove()
  })

  test('is shared among addresses too, since any project may be named', async () => {
    const small = new Folder()
    await small.open({ in_flight_bytes_max: 1_000_000 })
    const send = (token: string, client_ip: string) =>
      small.send(bodyOf(token, 300_000), { client_ip })
    const kinds = await kindsOf([
      send('phc_none', '1.1.1.1'),
      send('phc_nothing', '1.1.1.1'),
      send(TOKEN, '1.1.1.1'),
      send(TOKEN, '1.1.1.2'),
    ])
    expect(kinds).toEqual(['refused', 'refused', 'refused', 'stored'])
    expect(small.rows('select 1 from events')).toHaveLength(1)
    await small.remove()
  })
})
