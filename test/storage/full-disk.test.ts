/** Writers against a limit of the size of files, at which the system shortens a write before it refuses one. */
import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { EventLog } from '../../src/storage/log/event-log.ts'
import { idOf, MARCH_US } from '../query/world.ts'

const SOURCES = join(import.meta.dir, '../../src')
const folder = mkdtempSync(join(tmpdir(), 'tidemark-full-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Runs a program that may write files of up to 1 MiB; returns its error, or what it printed. */
function runLimited(program: string): string {
  const limited = 'ulimit -f 2048; trap "" XFSZ; exec "$0" -e "$1"'
  const { stdout, stderr } = Bun.spawnSync(['sh', '-c', limited, process.execPath, program])
  const error = stderr.toString()
  return /\bE[A-Z]{4,}\b/u.exec(error)?.[0] ?? stdout.toString().trim() + error
}

test('a write that the system shortens is an error', () => {
  const path = join(folder, 'bytes')
  expect(
    runLimited(`
      import { openSync, writeSync } from 'node:fs'
      console.log(writeSync(openSync('${path}', 'w'), new Uint8Array(1_500_000), 0))`),
  ).toBe(`${statSync(path).size}`)
  expect(statSync(path).size).toBeLessThan(1_500_000)
  expect(
    runLimited(`
      import { openSync } from 'node:fs'
      import { writeWhole } from '${SOURCES}/storage/files/write-whole.ts'
      writeWhole(openSync('${path}', 'w'), new Uint8Array(1_500_000), 0)`),
  ).toBe('EFBIG')
})

test('persons for ClickHouse are written whole or not at all', () => {
  const log = new EventLog(folder)
  const insert = log.db.query(
    `insert into persons (project_id, id, created_at, properties, is_identified, version, is_deleted, change)
    values (1, ?, ?, ?, 1, 1, 0, ?)`,
  )
  log.transact(() => {
    for (let number = 1; number <= 30; number += 1) {
      const properties = JSON.stringify({ text: 'x'.repeat(50_000) })
      insert.run(idOf(number), MARCH_US, properties, log.nextChange())
    }
  })
  const program = `
    import { Database } from 'bun:sqlite'
    import { writePersonLines } from '${SOURCES}/shipping/writer/person-lines.ts'
    const db = new Database('${folder}/events.db', { readonly: true })
    console.log(writePersonLines(db, '${folder}', { after: 0, up_to: 1e9 }).length)`
  expect(runLimited(program)).toBe('EFBIG')
  log.close()
})

test('a file that does not fit into a store of backups leaves nothing there', () => {
  const from = join(folder, 'large')
  const store = join(folder, 'store')
  writeFileSync(from, new Uint8Array(1_500_000))
  expect(
    runLimited(`
      import { openFolderStore } from '${SOURCES}/backup/store/folder-store.ts'
      await openFolderStore('${store}').write('files/large', '${from}')`),
  ).toBe('EFBIG')
  expect(readdirSync(join(store, 'files'))).toEqual([])
})
