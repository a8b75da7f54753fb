/** The hold on a primary's log after a read that failed. */
import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { EventLog } from '../../../src/storage/log/event-log.ts'
import { LogShipping } from '../../../src/storage/sqlite/log-shipping.ts'

test('a read that fails holds the log back no longer', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-hold-'))
  const log = new EventLog(folder)
  const shipping = new LogShipping(folder)
  try {
    log.transact(() => log.nextChange())
    // SQLite's own failures need a second process, as SQLITE_BUSY_RECOVERY does.
    using other = new Database(join(folder, 'events.db'))
    other.run('alter table files rename to hidden')
    const read = () => shipping.read('events', 'standby', null, -1)
    expect(read).toThrow('no such table')
    other.run('alter table hidden rename to files')
    log.transact(() => log.nextChange())
    const [emptied] = other.query('pragma wal_checkpoint(truncate)').all()
    expect(emptied).toMatchObject({ busy: 0 })
    expect(read()?.log).toMatchObject({ is_end: true })
  } finally {
    shipping.close()
    log.close()
    rmSync(folder, { recursive: true, force: true })
  }
})
