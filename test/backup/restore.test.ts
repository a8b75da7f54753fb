/** Hostile backups: a restore writes nothing outside of its folder, follows no link, and leaves nothing behind. */
import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { takeBackup } from '../../src/backup/backup.ts'
import { findFaults } from '../../src/backup/doctor.ts'
import { restoreBackup } from '../../src/backup/restore.ts'
import { makeLoginLink } from '../../src/projects/users/login-links.ts'
import { storePassword } from '../../src/projects/users/passwords.ts'
import { startSession } from '../../src/projects/users/sessions.ts'
import { createUser } from '../../src/projects/users/user.ts'
import { openControl } from '../../src/storage/control/control-db.ts'
import { filePath } from '../../src/storage/files/parquet.ts'
import { World } from '../query/world.ts'

const ID = '0190aaaa-0000-7000-8000-000000000001'

let folder = ''
let backup = ''
let restored = ''
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tidemark-restore-'))
  backup = join(folder, 'backup')
  restored = join(folder, 'restored')
  await using world = new World()
  world.send({}, {})
  openControl(world.data_dir).close()
  const { data_dir } = world
  await takeBackup({ data_dir, folder: backup, is_copied: false }, new Date())
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

type Line = { path: string; bytes: number; sha256: string }
type List = { made_at: string; files: Line[] }

/** Changes the list of the backup as an attacker would who knows all checksums. */
function forge(change: (list: List) => unknown): void {
  const path = join(backup, 'checksums.json')
  const list: List = JSON.parse(readFileSync(path, 'utf8'))
  const changed = change(list)
  writeFileSync(path, typeof changed === 'string' ? changed : JSON.stringify(list))
}

const lineOf = (path: string, content: string): Line => ({
  path,
  bytes: Buffer.byteLength(content),
  sha256: createHash('sha256').update(content).digest('hex'),
})

/** Why the backup is not restored; nothing may be left of the try. */
async function refusal(): Promise<string> {
  const message = await restoreBackup(backup, restored).then(
    () => 'restored',
    (error: Error) => `${error.name}: ${error.message}`,
  )
  expect(existsSync(restored)).toBe(message === 'restored')
  return message
}

test('a sound backup is restored', async () => {
  expect(await refusal()).toBe('restored')
  expect(readdirSync(restored).toSorted()).toEqual(['control.db', 'events.db'])
})

test.each([
  '../outside',
  'files/../../outside',
  '/etc/cron.d/outside',
  'files/1/../../../outside.parquet',
  'files//x.parquet',
  './events.db',
  'serve.json',
  'native/duckdb.node',
  `files/1/${ID}.parquet\n`,
  `files/01/${ID}.parquet`,
  'files/1/a b.parquet',
  '',
])('a list that names %p is refused, and nothing is written there', async (path) => {
  writeFileSync(join(folder, 'payload'), 'x')
  mkdirSync(join(backup, 'files', '1'), { recursive: true })
  writeFileSync(join(backup, 'payload'), 'x')
  forge(({ files }) => files.push(lineOf(path, 'x')))
  expect(await refusal()).toContain(`names ${JSON.stringify(path)}, which is no file of a backup`)
  expect(existsSync(join(folder, 'outside'))).toBe(false)
  const examined = await findFaults(backup).catch((error: Error) => error.message)
  expect(examined).toContain('which is no file of a backup')
})

test.each([
  ['no JSON', () => '{"files":'],
  ['nothing', () => 'null'],
  ['no list', () => '{"made_at":"2026-01-01","files":{}}'],
  ['no sizes', () => '{"made_at":"2026-01-01","files":[{"path":"events.db"}]}'],
  ['control characters', (list: List) => Object.assign(list, { made_at: '\u001b[2J' })],
  ['a size below zero', ({ files }: List) => Object.assign(files[0] ?? {}, { bytes: -1 })],
  ['no checksum', ({ files }: List) => Object.assign(files[0] ?? {}, { sha256: 'f' })],
] as const)('a list with %s is refused', async (_what, change) => {
  forge(change)
  expect(await refusal()).toContain('is not the list of a backup')
})

test('a list without a database, or with one twice, is refused', async () => {
  const whole = readFileSync(join(backup, 'checksums.json'))
  forge(({ files }) => files.push(...files.slice(0, 1)))
  expect(await refusal()).toContain('twice')
  writeFileSync(join(backup, 'checksums.json'), whole)
  forge(({ files }) =>
    files.splice(
      files.findIndex(({ path }) => path === 'control.db'),
      1,
    ),
  )
  expect(await refusal()).toContain('does not name control.db')
})

test('a list of gigabytes is not read, and one behind a link is not followed', async () => {
  const path = join(backup, 'checksums.json')
  renameSync(path, join(folder, 'list'))
  symlinkSync(join(folder, 'list'), path)
  expect(await refusal()).toContain('is not a regular file')
  rmSync(path)
  writeFileSync(path, '')
  truncateSync(path, 3 * 1024 ** 3)
  expect(await refusal()).toContain('has more than 67108864 bytes')
})

test('a database or a folder that is a link is not followed, also when its content fits', async () => {
  const path = join(backup, 'control.db')
  renameSync(path, join(folder, 'elsewhere'))
  symlinkSync(join(folder, 'elsewhere'), path)
  expect(await refusal()).toContain('control.db of the backup is a link, or not a regular file')
  rmSync(path)
  renameSync(join(folder, 'elsewhere'), path)

  mkdirSync(join(folder, 'other'))
  writeFileSync(join(folder, 'other', `${ID}.parquet`), 'x')
  mkdirSync(join(backup, 'files'), { recursive: true })
  symlinkSync(join(folder, 'other'), join(backup, 'files', '1'))
  forge(({ files }) => files.push(lineOf(`files/1/${ID}.parquet`, 'x')))
  expect(await refusal()).toContain('is a link, or not a regular file')
})

test('a pipe or a folder in the place of a file is not waited for', async () => {
  const path = join(backup, 'control.db')
  rmSync(path)
  execFileSync('mkfifo', [path])
  expect(await refusal()).toContain('is a link, or not a regular file')
  rmSync(path)
  mkdirSync(path)
  expect(await refusal()).toContain('is a link, or not a regular file')
})

test('a file that is hard-linked is copied: backups share files with the folder they were made of', async () => {
  linkSync(join(backup, 'control.db'), join(folder, 'linked'))
  expect(await refusal()).toBe('restored')
  writeFileSync(join(folder, 'linked'), 'changed')
  expect(readFileSync(join(restored, 'control.db')).toString('latin1')).toStartWith('SQLite')
})

test.each(['../../../victim', 'a/b', '*', ID])(
  'a database that names the file %p, which is not in the backup, is refused',
  async (id) => {
    const path = join(backup, 'events.db')
    const db = new Database(path)
    db.run('pragma journal_mode = delete')
    db.run(
      `insert into files (id, project_id, month, first_seq, last_seq, row_count, byte_count, sha256,
min_timestamp, max_timestamp, created_at) values (?, 1, '2024-03', 1, 1, 1, 1, '', 0, 0, 0)`,
      [id],
    )
    db.close()
    forge(({ files }) => {
      const bytes = readFileSync(path)
      const sha256 = createHash('sha256').update(bytes).digest('hex')
      const line = files.find((file) => file.path === 'events.db')
      return void Object.assign(line ?? {}, { bytes: bytes.length, sha256 })
    })
    expect(await refusal()).toContain(`names a file that is not in it: ${JSON.stringify(id)}`)
  },
)

test('a database that is none is refused', async () => {
  writeFileSync(join(backup, 'events.db'), 'no database')
  forge(({ files }) => {
    const line = files.find((file) => file.path === 'events.db')
    return void Object.assign(line ?? {}, lineOf('events.db', 'no database'))
  })
  expect(await refusal()).toContain('events.db of the backup cannot be read')
})

test('no id leads a path out of its folder', () => {
  for (const id of ['../x', 'a/b', '', '.', 'x\0', '*']) {
    expect(() => filePath('/data', { project_id: 1, id })).toThrow('is no id of a file')
  }
  expect(filePath('/data', { project_id: 1, id: ID })).toBe(`/data/files/1/${ID}.parquet`)
})

test('what is copied by other programs is restored all the same', async () => {
  cpSync(backup, join(folder, 'copy'), { recursive: true })
  backup = join(folder, 'copy')
  expect(await refusal()).toBe('restored')
})

test('sessions and login links stay behind, passwords do not', async () => {
  await using world = new World()
  world.send({}, {})
  const control = openControl(world.data_dir)
  const now = new Date()
  const { id } = createUser(control.db, { email: 'a@b.example', first_name: 'Ann' }, now)
  startSession(control.db, { user_id: id, user_agent: '', ip: '' }, now)
  makeLoginLink(control.db, id, now)
  storePassword(control.db, { user_id: id, email: 'a@b.example', hash: 'hash' }, now)
  control.close()
  const { data_dir } = world
  const own = join(folder, 'own')
  await takeBackup({ data_dir, folder: own, is_copied: false }, now)
  await restoreBackup(own, restored)
  using db = new Database(join(restored, 'control.db'), { readonly: true })
  const counts = ['sessions', 'login_links', 'passwords'].map((table) =>
    db.query(`select count(*) as rows from ${table}`).get(),
  )
  expect(counts).toEqual([{ rows: 0 }, { rows: 0 }, { rows: 1 }])
  expect((await findFaults(restored)).findings).toEqual([])
})
