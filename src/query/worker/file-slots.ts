/** Slots: the fixed paths that a locked DuckDB instance may read, with snapshot files hard-linked into them. */
import { linkSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { DuckDBConnection } from '@duckdb/node-api'
import { Refusal } from '../../errors.ts'
import { textList } from '../../storage/duckdb/duckdb-text.ts'
import { filePath } from '../../storage/files/parquet.ts'

/** Thrown when all slots are used; a reopened store has free ones. */
export class SlotsFull extends Error {
  override readonly name = 'SlotsFull'
}

/** A file of the manifest or of a replica. */
type SlotFile = { readonly id: string; readonly project_id: number }

type RetiredFile = { readonly path: string; readonly before: number }

/**
 * A locked instance reads only the paths allowed before the lock, but files come and go with the manifest. So the
 * allowed paths are slots, and each file is linked into the next free one; no slot is used twice. A hard link also
 * keeps the file readable for running queries after the manifest has dropped it.
 */
export class FileSlots {
  readonly #data_dir: string
  readonly #folder: string
  readonly #slot_count: number
  readonly #path_by_id = new Map<string, string>()
  #used = 0
  /** Number of the current manifest; a query holds the epoch in which it began. */
  #epoch = 0
  readonly #holders = new Map<number, number>()
  #retired: readonly RetiredFile[] = []

  /** `folder` belongs to the instance, and is empty. */
  constructor(data_dir: string, folder: string, slot_count: number) {
    this.#data_dir = data_dir
    this.#folder = folder
    this.#slot_count = slot_count
  }

  allPaths(): readonly string[] {
    return Array.from({ length: this.#slot_count }, (_, slot) => this.#slotPath(slot))
  }

  /** Returns the slot's path of a file; links a new file into the next free slot. Throws SlotsFull. */
  pathOf(file: SlotFile): string {
    const linked = this.#path_by_id.get(file.id)
    if (linked !== undefined) return linked
    if (this.#used >= this.#slot_count) throw new SlotsFull()
    const path = this.#slotPath(this.#used)
    this.#used += 1
    linkFile(filePath(this.#data_dir, file), path)
    this.#path_by_id.set(file.id, path)
    return path
  }

  /** Keeps every currently linked file until the returned function is called. */
  hold(): () => void {
    const epoch = this.#epoch
    this.#holders.set(epoch, (this.#holders.get(epoch) ?? 0) + 1)
    return () => {
      const holders = (this.#holders.get(epoch) ?? 1) - 1
      if (holders > 0) this.#holders.set(epoch, holders)
      else this.#holders.delete(epoch)
      this.#unlinkRetired()
    }
  }

  /** Unlinks all other files once no earlier query can read them (epoch-based reclamation). False when there are none. */
  retireOthers(files: readonly SlotFile[]): boolean {
    const current_ids = new Set(files.map(({ id }) => id))
    const dropped = [...this.#path_by_id].filter(([id]) => !current_ids.has(id))
    if (dropped.length === 0) return false
    this.#epoch += 1
    for (const [id] of dropped) this.#path_by_id.delete(id)
    const retired = dropped.map(([, path]) => ({ path, before: this.#epoch }))
    this.#retired = [...this.#retired, ...retired]
    this.#unlinkRetired()
    return true
  }

  #unlinkRetired(): void {
    const oldest = Math.min(...this.#holders.keys(), this.#epoch)
    for (const { path, before } of this.#retired) {
      if (before <= oldest) rmSync(path, { force: true })
    }
    this.#retired = this.#retired.filter(({ before }) => before > oldest)
  }

  #slotPath(slot: number): string {
    return join(this.#folder, `${slot}.parquet`)
  }
}

/** Hard-links a file; falls back to a symbolic link where the file system has no hard links. */
function linkFile(from: string, to: string): void {
  rmSync(to, { force: true })
  try {
    linkSync(from, to)
  } catch {
    symlinkSync(from, to)
  }
}

/** Refuses a file whose footer DuckDB cannot read, or whose row count differs from the manifest's. */
export async function requireReadable(
  connection: DuckDBConnection,
  path: string,
  file: SlotFile & { readonly row_count: number },
): Promise<void> {
  const counted = await connection
    .runAndReadAll(`select count(*) from read_parquet(${textList([path])})`)
    .then((reader) => Number(reader.getRows()[0]?.[0]))
    .catch(() => null)
  if (counted === file.row_count) return
  throw new Refusal('storage_unavailable', `Snapshot file ${file.id} is damaged.`)
}
