/** The note of a standby about its copies, standby.json: written after they are on the disk, so that it is never ahead. */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { syncPath } from '../storage/files/parquet.ts'
import { STANDBY_NOTE } from '../storage/process/lock.ts'
import type { ShippedDatabase } from '../storage/sqlite/log-shipping.ts'
import type { LogChecksum } from '../storage/sqlite/write-ahead-log.ts'

/** Received frames of one run of a log. */
export type LogRunState = {
  readonly salts: string
  readonly page_bytes: number
  readonly frames: number
}

/** A copy of a database: a file, and the logs of the runs that are not in it, oldest first. The last one goes on. */
export type DatabaseCopyState = {
  /** The number of the copy, which its files are named by. */
  readonly number: number
  readonly runs: readonly LogRunState[]
  /** Of all frames of the last run. */
  readonly checksum: LogChecksum
}

export type StandbyState = {
  /** `taking_over` until the copies are where a server has its databases. */
  readonly phase: 'following' | 'taking_over' | 'taken_over'
  /** Tells standbys of one primary apart. */
  readonly id: string
  /** Null until the first copy of both databases and all files is whole. */
  readonly copies: Readonly<Record<ShippedDatabase, DatabaseCopyState>> | null
  /** When the copies were equal to the primary's databases, by this machine's clock. */
  readonly equal_at: string | null
}

/** The folder of the copied databases. */
export const copiesFolder = (data_dir: string): string => join(data_dir, 'standby')

export const copyPath = (data_dir: string, database: ShippedDatabase, number: number): string =>
  join(copiesFolder(data_dir), `${database}-${number}.db`)

/** The log of one run of a copied database. */
export const copiedLogPath = (database: string, salts: string): string => `${database}-${salts}.log`

/** Reads the note; null in a folder that is no standby's. Throws when it cannot be read. */
export function findState(data_dir: string): StandbyState | null {
  const path = join(data_dir, STANDBY_NOTE)
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as StandbyState) : null
}

export function writeState(data_dir: string, state: StandbyState): void {
  const path = join(data_dir, STANDBY_NOTE)
  mkdirSync(data_dir, { recursive: true })
  writeFileSync(`${path}.new`, `${JSON.stringify(state)}\n`)
  syncPath(`${path}.new`)
  renameSync(`${path}.new`, path)
  syncPath(data_dir)
}
