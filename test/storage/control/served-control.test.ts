/** The server's control.db: changes are on the disk once they are settled, and its log is checkpointed beside them. */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import { openConnection, openControl } from '../../../src/storage/control/control-db.ts'
import { ServedControl } from '../../../src/storage/control/served-control.ts'

let folder = ''
let faults: string[] = []
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidemark-control-'))
  faults = []
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const note = (why: string): void => {
  faults.push(why)
}

function openServed(): ServedControl {
  const served = new ServedControl({ data_dir: folder, fail: note, report: note, look_ms: 5 })
  served.db.run(sql`create table sample (value text)`)
  return served
}

function insert({ db }: ServedControl, value: string): void {
  db.run(sql`insert into sample values (${value})`)
}

test('whoever comes while a change is being synced waits for it, and nobody afterwards', async () => {
  const served = openServed()
  insert(served, 'of the start')
  expect(served.settle()).toBe(null)
  insert(served, 'one')
  insert(served, 'two')
  const first = served.settle()
  // An answer whose change another answer already syncs.
  expect(served.settle()).toBe(first)
  expect(first).not.toBe(null)
  await first
  expect(served.settle()).toBe(null)
  insert(served, 'three')
  expect(served.settle()).not.toBe(null)
  await served.close()

  const control = openControl(folder)
  expect(control.db.all(sql`select value from sample`)).toEqual(
    ['of the start', 'one', 'two', 'three'].map((value) => ({ value })),
  )
  control.close()
  expect(faults).toEqual([])
})

test('a statement is prepared once, and none keeps the log from being copied at the end', async () => {
  const connection = openConnection(folder)
  const text = 'select id from projects where id = ?'
  expect(connection.prepare(text)).toBe(connection.prepare(text))
  connection.close()
  const served = openServed()
  insert(served, 'one')
  served.db.all(sql`select value from sample`)
  await served.close()
  expect(existsSync(join(folder, 'control.db-wal'))).toBe(false)
})

test('a long log is copied into the database beside the commits', async () => {
  const served = openServed()
  await served.settle()
  const path = join(folder, 'control.db')
  for (let number = 0; number < 60; number += 1) {
    insert(served, 'x'.repeat(100_000))
    await served.settle()
  }
  while (statSync(path).size < 4_000_000) {
    insert(served, 'one more')
    await served.settle()
    await Bun.sleep(5)
  }
  expect(served.db.all(sql`select count(*) as rows from sample where length(value) > 100`)).toEqual(
    [{ rows: 60 }],
  )
  await served.close()
  expect(faults).toEqual([])
})

test('a log that only the server itself writes, without a call that changes something, is copied too', async () => {
  const served = openServed()
  await served.settle()
  for (let number = 0; number < 60; number += 1) insert(served, 'x'.repeat(100_000))
  while (statSync(join(folder, 'control.db')).size < 4_000_000) await Bun.sleep(5)
  await served.close()
  expect(faults).toEqual([])
})
