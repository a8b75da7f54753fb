/** The paths a locked DuckDB instance may read, and which snapshot file lies behind each of them now. */
import { linkSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { DuckDBConnection } from '@duckdb/node-api'
import { Refusal } from '../../errors.ts'
import { textList } from '../../storage/duckdb/duckdb-text.ts'
import { filePath } from '../../storage/files/parquet.ts'

/** Thrown when no further file fits in; a store opened again has room again. */
export class SlotsFull extends Error {
  override readonly name = 'SlotsFull'
}

/** A file of the manifest, or of persons and what else events are joined with. */
type SlotFile = { readonly id: string; readonly project_id: number }

type RetiredFile = { readonly path: string; readonly before: number }

/**
 * A locked instance reads only the paths it was told before the lock, but files come and go with the manifest.
 * So it is told the names of slots, and each file is linked into the next free one; none is used twice.
 * A hard link also keeps the file readable for queries under way when the manifest drops it.
 */
export class FileSlots {
  readonly #data_dir: string
  readonly #folder: string
  readonly #slot_count: number
  readonly #taken = new Map<string, string>()
  #used = 0
  /** Counts manifests; a query holds the count at which it began. */
  #epoch = 0
  readonly #holders = new Map<number, number>()
  #retired: readonly RetiredFile[] = []

  /** `folder` is the instance's own, and empty. */
  constructor(data_dir: string, folder: string, slot_count: number) {
    this.#data_dir = data_dir
    this.#folder = folder
    this.#slot_count = slot_count
  }

  allPaths(): readonly string[] {
    return Array.from({ length: this.#slot_count }, (_, slot) => this.#slotPath(slot))
  }

  /** The path under which the instance reads a file; links it in when it is new. Throws SlotsFull. */
  pathOf(file: SlotFile): string {
    const known = this.#taken.get(file.id)
    if (known !== undefined) return known
    if (this.#used >= this.#slot_count) throw new SlotsFull()
    const path = this.#slotPath(this.#used)
    this.#used += 1
    linkFile(filePath(this.#data_dir, file), path)
    this.#taken.set(file.id, path)
    return path
  }

  /** Keeps every file that is readable now until the returned function is called. */
  subscription(): () => void {
    const epoch = this.#epoch
    this.#holders.set(epoch, (this.#holders.get(epoch) ?? 0) + 1)
    return () => {
      const left = (this.#holders.get(epoch) ?? 1) - 1
      if (left > 0) this.#holders.set(epoch, left)
      else this.#holders.delete(epoch)
      this.#unlinkRetired()
    }
  }

  /** Lets go of every file but these, as soon as no query that began before reads them. False when there are no others. */
  retireOthers(files: readonly SlotFile[]): boolean {
    const kept = new Set(files.map(({ id }) => id))
    const gone = [...this.#taken].filter(([id]) => !kept.has(id))
    if (gone.length === 0) return false
    this.#epoch += 1
    for (const [id] of gone) this.#taken.delete(id)
    const retired = gone.map(([, path]) => ({ path, before: this.#epoch }))
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

/** Some file systems have no hard links. */
function linkFile(from: string, to: string): void {
  rmSync(to, { force: true })
  try {
    linkSync(from, to)
  } catch {
    symlinkSync(from, to)
  }
}

/** A footer that DuckDB reads, with as many rows as the manifest says. */
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
