/** Statements about one person read that person's rows, not all of its project: on the first connection and on later ones. */
import type { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { EventLog } from '../../../src/storage/log/event-log.ts'

let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidemark-statistics-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const BY_PERSON = 'where project_id = 1 and person_id = x'
const STATEMENTS = [
  `select distinct_id, home_id, is_main from distinct_ids ${BY_PERSON}'00' order by is_main desc, distinct_id`,
  `select distinct_id from distinct_ids ${BY_PERSON}'00' and home_id = x'01'`,
  `update distinct_ids set person_id = x'01', version = version + 1 ${BY_PERSON}'00'`,
  `update distinct_ids set is_main = 0 ${BY_PERSON}'00' and is_main = 1 and distinct_id <> 'a'`,
  `update person_overrides set person_id = x'01' ${BY_PERSON}'00'`,
  `update distinct_id_overrides set person_id = x'01' ${BY_PERSON}'00'`,
]

function planOf(db: Database, statement: string): string {
  const rows = db.query<{ detail: string }, []>(`explain query plan ${statement}`).all()
  return rows[0]?.detail ?? ''
}

describe.each(['first', 'second'])('the %s connection', () => {
  let log: EventLog
  beforeAll(() => {
    log = new EventLog(folder)
  })
  afterAll(() => log.close())

  test.each(STATEMENTS)('finds the rows of %s by more than their project', (statement) => {
    expect(planOf(log.db, statement)).toMatch(
      /USING (?:COVERING )?INDEX \w+ \(project_id=\? AND (?:person|home)_id=\?/,
    )
  })
})
