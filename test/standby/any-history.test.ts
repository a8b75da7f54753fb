/** Over any history of commits, checkpoints and pauses, a copy that calls itself whole is the primary at that moment. */
import { Database } from 'bun:sqlite'
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { applyLog, DatabaseCopy } from '../../src/standby/database-copy.ts'
import type { Primary } from '../../src/standby/primary.ts'
import { copiesFolder, copyPath, type DatabaseCopyState } from '../../src/standby/state.ts'
import { EventLog } from '../../src/storage/log/event-log.ts'
import { keepLogTail, LogShipping } from '../../src/storage/sqlite/log-shipping.ts'
import { seeded } from '../bench/events.ts'

/** Many: STANDBY_HISTORIES=2000 bun test test/standby/any-history.test.ts */
const HISTORIES = Number(process.env['STANDBY_HISTORIES'] ?? 5)
const SEED = Number(process.env['SEED'] ?? 20_261_126)
const STEPS = 60

setDefaultTimeout(60_000 + HISTORIES * 5000)

const folder = mkdtempSync(join(tmpdir(), 'tidemark-copies-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const SIGNAL = new AbortController().signal
const COUNTS = 'select count(*), coalesce(sum(id), 0), coalesce(sum(length(text)), 0) from history'

/** The connections of a server to events.db, in a new life of it. */
function openPrimary(data_dir: string) {
  const log = new EventLog(data_dir)
  const path = join(data_dir, 'events.db')
  const checkpoints = new Database(path)
  checkpoints.run('pragma busy_timeout = 0')
  const reader = new Database(path, { readonly: true })
  return { log, checkpoints, reader, shipping: new LogShipping(data_dir) }
}

/** A primary's events.db with the server's connections, and a standby's copy of it. */
class History {
  readonly #random: () => number
  readonly #data_dir: string
  readonly #standby_dir: string
  #log: EventLog
  #shipping: LogShipping
  #checkpoints: Database
  #reader: Database
  #copy: DatabaseCopy | null = null
  #noted: DatabaseCopyState | null = null
  #number = 0
  #is_reading = false
  /** Copies that were begun, and moments at which the copy was whole. */
  begun = 0
  compared = 0
  /** Lives of the primary after the first one; each may need a new copy. */
  restarts = 0

  constructor(number: number) {
    this.#random = seeded(SEED + number)
    this.#data_dir = join(folder, `primary-${number}`)
    this.#standby_dir = join(folder, `standby-${number}`)
    mkdirSync(join(this.#data_dir, 'tmp'), { recursive: true })
    mkdirSync(this.#standby_dir)
    const { log, checkpoints, reader, shipping } = openPrimary(this.#data_dir)
    log.transact(() => log.db.run('create table history (id integer primary key, text text)'))
    this.#log = log
    this.#checkpoints = checkpoints
    this.#reader = reader
    this.#shipping = shipping
  }

  async run(): Promise<void> {
    for (let step = 0; step < STEPS; step += 1) await this.#step(Math.floor(this.#random() * 14))
    this.#endReading()
    for (let round = 0; round < 20 && !(await this.#ask()); round += 1);
    this.#compare()
    this.#closePrimary()
  }

  #closePrimary(): void {
    this.#endReading()
    this.#shipping.close()
    this.#reader.close()
    this.#checkpoints.close()
    this.#log.close()
  }

  /** The next life begins with an empty log, as after a kill: the check of the databases folds it. */
  #restart(): void {
    this.restarts += 1
    this.#closePrimary()
    const { log, checkpoints, reader, shipping } = openPrimary(this.#data_dir)
    this.#log = log
    this.#checkpoints = checkpoints
    this.#reader = reader
    this.#shipping = shipping
  }

  async #step(kind: number): Promise<void> {
    switch (kind) {
      case 0:
      case 1:
      case 2:
        return this.#commit(1 + Math.floor(this.#random() * 4))
      case 3:
        return this.#commit(400)
      case 4:
        this.#checkpoints.query('pragma wal_checkpoint(passive)').get()
        return
      case 5:
        this.#checkpoints.query('pragma wal_checkpoint(truncate)').get()
        return
      case 6:
        return this.#pause()
      case 7:
        // Another reader, as the query process, keeps the log as well.
        if (this.#is_reading) this.#endReading()
        else {
          this.#reader.run('begin')
          this.#reader.query(COUNTS).values()
          this.#is_reading = true
        }
        return
      case 8:
        // The standby is killed, and begins where its note says.
        if (this.#noted !== null) this.#copy = this.#reopen(this.#noted)
        return
      case 9:
        // A life that ends before it has written anything is one too.
        return this.#restart()
      default:
        if (await this.#ask()) this.#compare()
    }
  }

  #commit(rows: number): void {
    const { db } = this.#log
    this.#log.transact(() => {
      const insert = db.query('insert into history (text) values (?)')
      for (let row = 0; row < rows; row += 1)
        insert.run('x'.repeat(1 + Math.floor(this.#random() * 900)))
      if (this.#random() < 0.2) db.run('delete from history where id % 7 = 0')
    })
  }

  /** As a server does under load: commits pause, and the log is made to start over. */
  #pause(): void {
    const from = this.#shipping.release()
    if (from !== null) keepLogTail(this.#log.db.filename, from)
    this.#log.checkpoint()
  }

  #endReading(): void {
    if (this.#is_reading) this.#reader.run('rollback')
    this.#is_reading = false
  }

  #reopen(state: DatabaseCopyState): DatabaseCopy {
    const parts = { data_dir: this.#standby_dir, database: 'events', number: state.number } as const
    return DatabaseCopy.reopen(parts, state)
  }

  #begin(): DatabaseCopy {
    this.begun += 1
    this.#number += 1
    const parts = { data_dir: this.#standby_dir, database: 'events', number: this.#number } as const
    return DatabaseCopy.begin(parts, this.#noted)
  }

  /** Asks once, as the follower does. True when the copy is whole, which is noted. */
  async #ask(): Promise<boolean> {
    this.#copy ??= this.#begin()
    const copy = this.#copy
    const had_file = copy.has_file
    const asked = this.#shipping.read('events', 'copy', copy.position, -1)
    if (asked === null) return false
    if (!copy.take({ log: asked.log, frames: Buffer.from(asked.bytes) })) {
      this.#copy = this.#begin()
      return false
    }
    const source: Pick<Primary, 'readPages'> = {
      readPages: async (database, offset, { length }) =>
        this.#shipping.readPages(database, offset, length),
    }
    if (!copy.has_file) await copy.copyParts(source, SIGNAL)
    if (!had_file || !asked.log.is_end || asked.log.manifest_version === null) return false
    copy.sync()
    this.#noted = copy.state
    if (copy.applyFinished()) this.#noted = copy.state
    return true
  }

  /** Takes over a copy of the standby's files, and reads them as a server would. */
  #compare(): void {
    if (this.#noted === null) throw new Error('the copy never became whole')
    this.compared += 1
    const clone = join(folder, 'clone')
    rmSync(clone, { recursive: true, force: true })
    cpSync(copiesFolder(this.#standby_dir), copiesFolder(clone), { recursive: true })
    const path = copyPath(clone, 'events', this.#noted.number)
    for (const run of this.#noted.runs) applyLog(path, run)
    copyFileSync(path, join(clone, 'events.db'))
    const own = new Database(join(clone, 'events.db'))
    expect(own.query('pragma integrity_check').values()).toEqual([['ok']])
    expect(own.query(COUNTS).values()).toEqual(this.#log.db.query(COUNTS).values())
    own.close()
  }
}

test(`${HISTORIES} histories (SEED=${SEED}) give copies that are the primary, most of them without beginning anew`, async () => {
  let begun = 0
  let compared = 0
  let restarts = 0
  for (let number = 0; number < HISTORIES; number += 1) {
    const history = new History(number)
    await history.run()
    begun += history.begun
    restarts += history.restarts
    compared += history.compared
  }
  expect(compared).toBeGreaterThan(HISTORIES * 4)
  expect(begun).toBeLessThan(restarts + HISTORIES * 3)
})
