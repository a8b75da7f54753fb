/** The progress of a move from another server, in a folder of its own: written whole, so that a kill never leaves half of it. */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { syncPath } from '../../storage/files/parquet.ts'
import { BackupFault } from '../fill-folder.ts'

/** A position in a table that is read in the order of two columns. */
export type KeysetPosition = readonly [first: string, second: string]

/** A thing of the source and what became of it here. */
export type MovedItem = {
  readonly id: number | string
  /** A digest of the members that were sent last; empty before they were sent. */
  readonly digest: string
  /** It was here before the move, and is left as it is. */
  readonly is_theirs?: true
}

/** The tables that are read page by page. */
export const MOVED_TABLES = ['events', 'groups', 'persons'] as const
export type MovedTable = (typeof MOVED_TABLES)[number]

export type TableProgress = {
  /** Null before the first page, and after the last one. */
  readonly cursor: KeysetPosition | null
  /** Numbers of rows read and brought over in this pass. */
  readonly read: number
  readonly brought: number
}

export type MoveState = {
  readonly version: 1
  /** The time of the source at which this run of stages began, and with it the ids of events that correct persons. */
  began_at: string | null
  /** All events that the source received before this time were read; null before the first whole pass. */
  events_since: string | null
  events: TableProgress
  persons: TableProgress
  groups: TableProgress
  stages_done: string[]
  /** By kind, by id at the source. */
  items: { [kind: string]: { [source_id: string]: MovedItem } }
  /** Counts of rows that were left out in this run, by kind and reason. */
  left_out: { [kind: string]: { [reason: string]: number } }
}

export const NOTHING_READ: TableProgress = { cursor: null, read: 0, brought: 0 }

/** The source and the target of a move, which name its folder. */
export type MoveEnds = {
  readonly url: string
  readonly source_project: number
  readonly project_id: number
}

/** The digest of a move's ends: marks what it creates. */
export function nameMove({ url, source_project, project_id }: MoveEnds): string {
  const text = JSON.stringify([url, source_project, project_id])
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}

/** Reads and writes the state of a move. */
export class StateFile {
  readonly #path: string
  readonly state: MoveState

  /** Throws a BackupFault for a state that cannot be read: to begin again would bring definitions over twice. */
  constructor(folder: string) {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    this.#path = join(folder, 'state.json')
    this.state = existsSync(this.#path) ? readState(this.#path) : newState()
  }

  save(): void {
    const fresh = `${this.#path}.new`
    writeFileSync(fresh, JSON.stringify(this.state), { mode: 0o600 })
    syncPath(fresh)
    renameSync(fresh, this.#path)
  }
}

function newState(): MoveState {
  return {
    version: 1,
    began_at: null,
    events_since: null,
    events: NOTHING_READ,
    persons: NOTHING_READ,
    groups: NOTHING_READ,
    stages_done: [],
    items: {},
    left_out: {},
  }
}

function readState(path: string): MoveState {
  try {
    const state = JSON.parse(readFileSync(path, 'utf8')) as MoveState
    if (state.version === 1) return state
  } catch {
    // The fault below names the file.
  }
  throw new BackupFault(`${path} cannot be read: restore it, or remove its folder to begin again`)
}
