/** Backups in a folder and in a bucket of a real server: what is sent, listed, restored and removed, and what is refused. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { takeBackup } from '../../../src/backup/backup.ts'
import { findFaults } from '../../../src/backup/doctor.ts'
import {
  chooseKept,
  examineStore,
  type KeptBackup,
  keepBackup,
  listBackups,
  restoreKept,
} from '../../../src/backup/store/kept-backups.ts'
import { openStore } from '../../../src/backup/store/open-store.ts'
import type { BackupStore } from '../../../src/backup/store/store.ts'
import { QueryEngine } from '../../../src/query/engine/engine.ts'
import { openControl } from '../../../src/storage/control/control-db.ts'
import { limitTests, longTest } from '../../long-tests.ts'
import { ask, World } from '../../query/world.ts'
import { createJob, FINGERPRINT, IS_EVERY_CELL, sendMixed } from '../../snapshots/snapshot-world.ts'
import { BucketServer } from './bucket-server.ts'

limitTests(120_000)

const DAY_MS = 86_400_000
const FIRST = new Date('2026-11-20T12:00:00Z')
const dayAfter = (days: number): Date => new Date(FIRST.getTime() + days * DAY_MS)

let folder = ''
let world: World
let bucket: BucketServer
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tidemark-kept-'))
  world = new World()
  openControl(world.data_dir).close()
  bucket = new BucketServer()
  await bucket.start()
})
afterEach(async () => {
  await world[Symbol.asyncDispose]()
  await bucket[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

const openFolder = (): BackupStore =>
  openStore({ kind: 'folder', folder: join(folder, 'store') }, bucket.access())

/** Sends events, and moves them into snapshot files. */
async function addEvents(count: number): Promise<void> {
  sendMixed(world, count, 20)
  await createJob(world).run()
}

const keep = (
  store: BackupStore,
  now: Date,
  retention: Parameters<typeof keepBackup>[0]['retention'] = null,
) => keepBackup({ data_dir: world.data_dir, store, retention }, now)

/** What a folder answers about all events of a project. */
async function fingerprintOf(data_dir: string): Promise<unknown> {
  for (const name of ['files', 'tmp']) mkdirSync(join(data_dir, name), { recursive: true })
  const settings = {
    memory_mb: 256,
    spill_mb: 512,
    threads: 1,
    result_bytes_max: 8_000_000,
    running_max: 1,
    waiting_max: 1,
  }
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined }
  const engine = new QueryEngine({ data_dir, settings, log })
  try {
    return await ask(engine, FINGERPRINT)
  } finally {
    await engine.close()
  }
}

const message = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (error: Error) => `${error.name}: ${error.message}`,
  )

/** What was left of runs in the data folder. */
const leftovers = (): string[] => readdirSync(join(world.data_dir, 'tmp'))

describe.each([['folder'], ['bucket']])('a store in a %s', (kind) => {
  const open = (): BackupStore => (kind === 'folder' ? openFolder() : bucket.open())

  test('gets only new files, and gives back the events of each time', async () => {
    const store = open()
    await addEvents(200)
    const first = await fingerprintOf(world.data_dir)
    const full = await keep(store, FIRST)
    expect(full).toMatchObject({ files: 4, files_sent: 4, missing: 0, last_seq: 200 })

    await addEvents(100)
    const second = await fingerprintOf(world.data_dir)
    bucket.requests.length = 0
    // The databases and the new files of two projects; control.db has not changed.
    expect(await keep(store, dayAfter(1))).toMatchObject({ files: 6, files_sent: 3, missing: 0 })
    if (kind === 'bucket') {
      const sent = bucket.requests.filter((request) => request.startsWith('PUT'))
      expect(sent.filter((request) => request.includes('/files/'))).toHaveLength(3)
      expect(sent).toHaveLength(4)
    }
    expect((await keep(store, dayAfter(2))).files_sent).toBe(0)
    expect(leftovers()).toEqual([])

    const times = [FIRST, dayAfter(1), dayAfter(2)].map((time) => time.toISOString())
    const { backups, unreadable } = await listBackups(store)
    expect(unreadable).toEqual([])
    expect(backups.map(({ made_at }) => made_at)).toEqual(times)
    expect(await examineStore(store)).toMatchObject({ findings: [], files: 7 })

    const choices = [
      [new Date(dayAfter(1).getTime() - 1), times[0], first],
      [dayAfter(1), times[1], second],
      [FIRST, times[0], first],
      [null, times[2], second],
    ] as const
    for (const [at, made_at, events] of choices.slice(0, IS_EVERY_CELL ? choices.length : 2)) {
      const restored = mkdtempSync(join(folder, 'restored-'))
      expect(await restoreKept(store, at, restored)).toMatchObject({ made_at })
      expect((await findFaults(restored)).findings).toEqual([])
      expect(await fingerprintOf(restored)).toEqual(events)
    }
    const none = join(folder, 'none')
    expect(await message(restoreKept(store, dayAfter(-1), none))).toContain(
      `has no whole backup of ${dayAfter(-1).toISOString()} or before; the oldest is of ${times[0]}`,
    )
    expect(existsSync(none)).toBe(false)
  })

  test('loses old backups by retention, and no file that another backup names', async () => {
    const store = open()
    await addEvents(100)
    for (const day of [0, 1, 2]) {
      await keep(store, dayAfter(day))
      sendMixed(world, 10)
    }
    const kept = await keep(store, dayAfter(3), { unit: 'backups', number: 2 })
    // Two copies of events.db are named by removed backups alone.
    expect(kept).toMatchObject({ backups_removed: 2, files_removed: 2, missing: 0 })
    expect(await examineStore(store)).toMatchObject({
      findings: [],
      backups: [{ made_at: dayAfter(2).toISOString() }, { made_at: dayAfter(3).toISOString() }],
    })
    sendMixed(world, 10)
    expect(await keep(store, dayAfter(40), { unit: 'days', number: 30 })).toMatchObject({
      backups_removed: 2,
      missing: 0,
    })
    expect((await examineStore(store)).findings).toEqual([])
  })

  test('a list that is forged writes nothing outside, and nothing at all', async () => {
    const store = open()
    sendMixed(world, 10)
    await keep(store, FIRST)
    const name = '20261121T120000000Z.json'
    const payload = join(folder, 'payload')
    const sha256 = createHash('sha256').update('x').digest('hex')
    const files = [
      { path: '../outside', bytes: 1, sha256 },
      { path: 'events.db', bytes: 1, sha256: '../../payload' },
    ]
    for (const file of files) {
      writeFileSync(payload, JSON.stringify({ made_at: '2026-11-21T12:00:00.000Z', files: [file] }))
      await store.write(`backups/${name}`, payload)
      const { backups, unreadable } = await listBackups(store)
      expect(backups).toHaveLength(1)
      expect(unreadable.map(({ key }) => key)).toEqual([`backups/${name}`])
      // It may name anything, so nothing is removed.
      const days = { unit: 'days', number: 1 } as const
      const run = await keep(store, dayAfter(9 + files.indexOf(file)), days)
      expect(run).toMatchObject({ backups_removed: 0, files_removed: 0 })
      await store.remove(`backups/${run.made_at.replaceAll(/[-:.]/g, '')}.json`)
    }
    const restored = join(folder, 'restored')
    expect(await restoreKept(store, null, restored)).toMatchObject({
      made_at: FIRST.toISOString(),
      passed_by: [
        { key: `backups/${name}`, fault: expect.stringContaining('is not the list of a backup') },
      ],
    })
    // A backup of before the damaged one passes none by.
    expect(await restoreKept(store, FIRST, join(folder, 'before'))).toMatchObject({ passed_by: [] })
    expect(existsSync(join(folder, 'outside'))).toBe(false)
  })

  test('a backup of which a file is missing or changed is not whole, and the next one mends it', async () => {
    const store = open()
    await addEvents(100)
    await keep(store, FIRST)
    const names = [...(await store.list('files'))].toSorted(([, one], [, other]) => other - one)
    const name = names[0]?.[0] ?? ''
    await store.remove(`files/${name}`)
    expect((await listBackups(store)).backups).toMatchObject([{ missing: 1 }])
    expect(await message(restoreKept(store, null, join(folder, 'restored')))).toContain(
      'has no whole backup',
    )
    expect((await examineStore(store)).findings).toMatchObject([{ fault: 'is missing' }])
    const mended = await keep(store, dayAfter(1), { unit: 'backups', number: 1 })
    expect(mended).toMatchObject({ missing: 0, files_sent: 1 })
    expect((await examineStore(store)).findings).toEqual([])

    // Of the right size, and with other bytes.
    const changed = join(folder, 'changed')
    writeFileSync(changed, Buffer.alloc(names[0]?.[1] ?? 0))
    await store.write(`files/${name}`, changed)
    expect((await examineStore(store)).findings).toMatchObject([
      { fault: 'does not match its checksum' },
    ])
    expect(await message(restoreKept(store, null, join(folder, 'restored')))).toContain(
      'does not match its checksum',
    )
    expect(existsSync(join(folder, 'restored'))).toBe(false)
  })
})

describe('a bucket', () => {
  test('that does not give the newest list is a fault that names it, and no older backup is restored', async () => {
    const store = bucket.open()
    sendMixed(world, 10)
    await keep(store, FIRST)
    await keep(store, dayAfter(1))
    const newest = 'backups/20261121T120000000Z.json'
    bucket.cut = { begins: `GET /acme-backups/tidemark/${newest}`, bytes: 1 }
    const restored = join(folder, 'restored')
    expect(await message(restoreKept(store, null, restored))).toStartWith(
      `BackupFault: ${newest} may be the newest, try again, or name an earlier time: s3://acme-backups/tidemark/: `,
    )
    expect(existsSync(restored)).toBe(false)
    // The list of a later time is of no use for an earlier one.
    expect(await restoreKept(store, FIRST, restored)).toMatchObject({ passed_by: [] })
  })

  test('of which a proxy answers the newest list with a page is such a fault too, and one for the next backup', async () => {
    sendMixed(world, 10)
    await keep(bucket.open(), FIRST)
    await keep(bucket.open(), dayAfter(1))
    const newest = 'backups/20261121T120000000Z.json'
    let page = newest
    const { endpoint } = bucket.access()
    const proxy = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      async fetch({ url, method, headers, body }) {
        const { pathname, search } = new URL(url)
        if (method === 'GET' && pathname.endsWith(page)) return new Response('<html>later</html>')
        return fetch(`${endpoint}${pathname}${search}`, { method, headers, body })
      },
    })
    try {
      const store = bucket.open({ endpoint: proxy.url.origin })
      const restored = join(folder, 'restored')
      expect(await message(restoreKept(store, null, restored))).toMatch(
        /^BackupFault: \S+ may be the newest, .*: s3:.* gives 18 of \d+ bytes$/,
      )
      expect(existsSync(restored)).toBe(false)
      page = 'backups/20261122T120000000Z.json'
      expect(await message(keep(store, dayAfter(2)))).toMatch(
        /^BackupFault: s3:.* gives 18 of \d+ bytes$/,
      )
    } finally {
      await proxy.stop(true)
    }
  })

  test('of which the connection is cut in the middle of an upload has no backup until the next run', async () => {
    const store = bucket.open()
    await addEvents(3000)
    bucket.cut = { begins: 'PUT /acme-backups/tidemark/files/', bytes: 20_000 }
    expect(await message(keep(store, FIRST))).toStartWith(
      'BackupFault: s3://acme-backups/tidemark/: ',
    )
    expect(await listBackups(store)).toEqual({ backups: [], unreadable: [] })
    expect(leftovers()).toEqual([])
    // The list is sent last: a cut there leaves files, and no backup.
    bucket.cut = { begins: 'PUT /acme-backups/tidemark/backups/', bytes: 1 }
    expect(await message(keep(store, FIRST))).toStartWith('BackupFault: ')
    expect(await listBackups(store)).toEqual({ backups: [], unreadable: [] })

    bucket.cut = null
    expect(await keep(store, FIRST)).toMatchObject({ missing: 0, files_sent: 0 })
    expect((await examineStore(store)).findings).toEqual([])
  })

  test('with a wrong key or secret, of another name, or at no address is a fault that says so', async () => {
    sendMixed(world, 10)
    for (const [store, reason] of [
      [bucket.open({ key_id: 'nobody' }), 'InvalidAccessKeyId'],
      [bucket.open({ secret: 'a guess' }), 'SignatureDoesNotMatch'],
      [bucket.open({}, 'of-somebody-else'), 'NoSuchBucket'],
      [bucket.open({ endpoint: 'http://127.0.0.1:1' }), 'ConnectionRefused'],
    ] as const) {
      expect(await message(keep(store, FIRST))).toStartWith(`BackupFault: ${store.name}: ${reason}`)
      expect(await message(listBackups(store))).toStartWith('BackupFault: ')
    }
    expect(leftovers()).toEqual([])
    expect(() => bucket.open({ secret: null })).toThrow('needs a key')
  })

  longTest('is listed over all pages of a thousand keys', async () => {
    const store = bucket.open()
    const path = join(folder, 'empty')
    writeFileSync(path, 'x')
    const keys = Array.from({ length: 1050 }, (_, number) => `files/${number}`)
    for (let start = 0; start < keys.length; start += 50) {
      await Promise.all(keys.slice(start, start + 50).map((key) => store.write(key, path)))
    }
    const pages = () => bucket.requests.filter((request) => request.includes('list-type=2')).length
    const before = pages()
    const listed = await store.list('files')
    expect([...listed.keys()].toSorted()).toEqual(
      keys.map((key) => key.slice('files/'.length)).toSorted(),
    )
    expect(pages() - before).toBe(2)
  })
})

describe('a folder', () => {
  test('is read and written without following links', async () => {
    const store = openFolder()
    await addEvents(10)
    await keep(store, FIRST)
    const files = join(folder, 'store', 'files')
    const [name = ''] = readdirSync(files)
    renameSync(join(files, name), join(folder, 'elsewhere'))
    symlinkSync(join(folder, 'elsewhere'), join(files, name))
    expect((await listBackups(store)).backups).toMatchObject([{ missing: 1 }])
    renameSync(files, join(folder, 'files'))
    symlinkSync(join(folder, 'files'), files)
    expect(await message(listBackups(store))).toContain('is a link, or not a folder')
    expect(await message(keep(store, dayAfter(1)))).toContain('is a link, or not a folder')
  })

  test('that is a data folder or a backup does not become a store, and files of others stay', async () => {
    await addEvents(10)
    const backup = join(folder, 'backup')
    await takeBackup({ data_dir: world.data_dir, folder: backup, is_copied: false }, FIRST)
    const access = bucket.access()
    const store = openStore({ kind: 'folder', folder: backup }, access)
    expect(await message(keep(store, FIRST))).toContain('is a data folder or a backup')

    mkdirSync(join(folder, 'store', 'files'), { recursive: true })
    const note = join(folder, 'store', 'files', 'note.txt')
    appendFileSync(note, 'mine')
    await keep(openFolder(), FIRST, { unit: 'backups', number: 1 })
    await keep(openFolder(), dayAfter(1), { unit: 'backups', number: 1 })
    expect(readFileSync(note, 'utf8')).toBe('mine')
  })
})

test('retention keeps the newest whole backup, whatever its age, and whole ones only count', () => {
  const backup = (day: number, missing = 0): KeptBackup => ({
    made_at: dayAfter(day).toISOString(),
    files: 2,
    bytes: 2,
    missing,
  })
  const chosen = (backups: readonly KeptBackup[], unit: 'backups' | 'days', number: number) =>
    [...chooseKept(backups, { unit, number }, dayAfter(100))].map(({ made_at }) => made_at)
  const days = (...list: readonly number[]): string[] =>
    list.map((day) => dayAfter(day).toISOString())
  const mixed = [backup(0), backup(1), backup(2, 1), backup(3), backup(4, 1)]
  expect(chosen(mixed, 'backups', 1)).toEqual(days(3, 4))
  expect(chosen(mixed, 'backups', 2)).toEqual(days(1, 2, 3, 4))
  expect(chosen(mixed, 'backups', 9)).toEqual(days(0, 1, 2, 3, 4))
  expect(chosen(mixed, 'days', 1)).toEqual(days(3))
  expect(chosen([backup(1, 1), backup(2, 1)], 'days', 1)).toEqual(days(1, 2))
  // A clock that was wrong has made the last one.
  const ahead = [backup(99), backup(100), backup(500)]
  expect(chosen(ahead, 'backups', 1)).toEqual(days(100, 500))
  expect(chosen(ahead, 'days', 1)).toEqual(days(99, 100, 500))
})
