/** A moved project comes into a folder with others: users by their address, keys for it alone, numbers that collide refused. */

import { Database } from 'bun:sqlite'
import { afterAll, beforeEach, describe, expect, test } from 'bun:test'
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { COPIED_TABLES, LEFT_TABLES, takeInto } from '../../src/backup/take-into.ts'
import { createFirstThings } from '../../src/projects/bootstrap.ts'
import { raiseProjectIds, storeHomeNumber } from '../../src/projects/settings/home.ts'
import { openControl } from '../../src/storage/control/control-db.ts'
import { EventLog } from '../../src/storage/log/event-log.ts'
import { writeShippingStep } from '../../src/storage/log/shipments.ts'
import { takeLock } from '../../src/storage/process/lock.ts'
import { openWriter } from '../../src/storage/sqlite/sqlite.ts'
import { rejectionOf } from '../rejection.ts'

const NOW = new Date('2026-03-01T00:00:00.000Z')
const folder = mkdtempSync(join(tmpdir(), 'tidemark-take-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let folders = 0
let giver = ''
let taker = ''

/** A folder with a first project, from which its numbers are counted in a block of their own. */
function makeFolder(block: number, project_id: number): string {
  folders += 1
  const data_dir = join(folder, `folder-${folders}`)
  const control = openControl(data_dir)
  storeHomeNumber(control.db, block)
  raiseProjectIds(control.db, project_id)
  createFirstThings(control.db, { api_token: null, personal_api_key: null }, NOW)
  control.close()
  mkdirSync(join(data_dir, 'tmp'), { recursive: true })
  const log = new EventLog(data_dir)
  writeShippingStep(log.db, { kind: 'begin' })
  log.close()
  return data_dir
}

const inControl = (data_dir: string, ...statements: readonly string[]): void => {
  using control = openWriter(join(data_dir, 'control.db'))
  for (const sql of statements) control.run(sql)
}
const read = (data_dir: string, sql: string): unknown => {
  using control = new Database(join(data_dir, 'control.db'), { readonly: true })
  return control.query(sql).values()
}
const take = (): Promise<void> =>
  takeInto({
    project_id: 1,
    data_dir: taker,
    unpack: async (to) => cpSync(giver, to, { recursive: true }),
  })

beforeEach(() => {
  giver = makeFolder(0, 1)
  taker = makeFolder(1, 11)
})

describe('a project that is taken into a folder with others', () => {
  test('brings each table of control.db that has something of a project', () => {
    const of_projects = read(
      giver,
      `select name from sqlite_schema as t
where type = 'table' and exists (select 1 from pragma_table_info(t.name) where name = 'project_id')`,
    ) as [string][]
    const copied = COPIED_TABLES.map(({ name }) => name)
    expect(
      of_projects.flat().filter((name) => !copied.includes(name) && !LEFT_TABLES.has(name)),
    ).toEqual([])
    const children = read(
      giver,
      `select distinct t.name from sqlite_schema as t, pragma_foreign_key_list(t.name) as f
where t.type = 'table' and f."table" in (${copied.map((name) => `'${name}'`).join(', ')}) and f."table" <> 'projects'`,
    ) as [string][]
    expect(children.flat().filter((name) => !copied.includes(name))).toEqual([])
  })

  test('finds its users by their address, and its keys are for it alone', async () => {
    inControl(giver, "update users set email = 'ann@example.com'")
    inControl(
      taker,
      `insert into users (uuid, distinct_id, email, first_name, created_at) values ('u', 'd', 'ann@example.com', 'Ann', 1)`,
    )
    inControl(
      giver,
      `insert into users (uuid, distinct_id, email, first_name, created_at) values ('v', 'e', 'bob@example.com', 'Bob', 1)`,
      `insert into actions (project_id, name, steps, created_by, created_at, updated_at) values (1, 'Paid', '[]', (select max(id) from users), 1, 1)`,
    )
    for (let time = 0; time < 2; time += 1) await take()
    expect(read(taker, 'select id from projects order by id')).toEqual([[1], [11]])
    expect(
      read(
        taker,
        'select u.email, m.level from memberships as m join users as u on u.id = m.user_id join projects as p using (organization_id) where p.id = 1',
      ),
    ).toEqual([['ann@example.com', 15]])
    expect(
      read(
        taker,
        'select u.email, k.scoped_projects from personal_api_keys as k join users as u on u.id = k.user_id where u.email is not null',
      ),
    ).toEqual([['ann@example.com', '[1]']])
    expect(
      read(
        taker,
        'select a.name, u.email from actions as a join users as u on u.id = a.created_by',
      ),
    ).toEqual([['Paid', 'bob@example.com']])
    expect(read(taker, 'select project_id, name from dashboards order by project_id')).toEqual([
      [1, 'My App Dashboard'],
      [11, 'My App Dashboard'],
    ])
    expect(
      read(taker, 'select count(*) from projects join dashboards as d on d.id = primary_dashboard'),
    ).toEqual([[2]])
    expect(read(taker, 'pragma foreign_key_check')).toEqual([])
  })

  test('is refused where its numbers are those of others, and nothing changes', async () => {
    taker = makeFolder(0, 11)
    expect(await rejectionOf(take())).toMatchObject({
      name: 'BackupFault',
      message:
        'dashboards 1 of project 1 is the number of another one there: take the project into a new folder',
    })
    expect(read(taker, 'select id from projects')).toEqual([[11]])
  })

  test('is refused by a server that runs, which has its positions and persons in memory; the copy may then go elsewhere', async () => {
    const lock = takeLock(taker, process.pid, NOW)
    expect(await rejectionOf(take())).toMatchObject({
      name: 'BackupFault',
      message: expect.stringMatching(/is in use by .*: stop it, take the project, and start it/),
    })
    lock.release()
    expect(read(taker, 'select id from projects')).toEqual([[11]])
  })
})
