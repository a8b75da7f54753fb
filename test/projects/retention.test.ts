/** For how long projects keep their events: what they say themselves wins over the server's setting. */
import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createFirstThings } from '../../src/projects/bootstrap.ts'
import { retentionMonths, setRetention } from '../../src/projects/settings/retention.ts'
import { openControl } from '../../src/storage/control/control-db.ts'

test('a project keeps what it says, else what the server says; 0 is for ever', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-retention-'))
  const control = openControl(folder)
  try {
    const { db } = control
    createFirstThings(db, { api_token: null, personal_api_key: null }, new Date())
    expect([retentionMonths(db, 1, 0), retentionMonths(db, 1, 6)]).toEqual([null, 6])
    setRetention(db, 1, 18)
    expect([retentionMonths(db, 1, 6), retentionMonths(db, 2, 6)]).toEqual([18, 6])
    setRetention(db, 1, 0)
    expect(retentionMonths(db, 1, 6)).toBeNull()
    setRetention(db, 1, null)
    expect(retentionMonths(db, 1, 6)).toBe(6)
    expect(() => setRetention(db, 9, 3)).toThrow('There is no project 9.')
  } finally {
    control.close()
    rmSync(folder, { recursive: true, force: true })
  }
})
