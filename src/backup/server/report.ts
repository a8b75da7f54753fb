/** The report of a move: what was brought over, and by name and reason what was not. */
import { renameSync, writeFileSync } from 'node:fs'
import { printable } from './server-api.ts'

/** An item that was not brought over, or not whole. */
type NotedItem = {
  readonly kind: string
  readonly id: string
  readonly name: string
  readonly reason: string
}

/** The numbers of items of one kind by their fate. */
type KindCounts = {
  created: number
  updated: number
  unchanged: number
  left_out: number
}

/** The most items that the report names; all are counted. */
const NAMED_MAX = 10_000
const PRINTED_MAX = 50
const NAME_LENGTH_MAX = 200
/** The most reasons kept of a kind: some contain texts of the other server, so each may differ. */
const REASONS_MAX = 100

export class MoveReport {
  readonly definitions = new Map<string, KindCounts>()
  readonly #named: NotedItem[] = []
  readonly #notes = new Set<string>()
  #unnamed_count = 0

  countsOf(kind: string): KindCounts {
    const counts = this.definitions.get(kind)
    if (counts !== undefined) return counts
    const fresh = { created: 0, updated: 0, unchanged: 0, left_out: 0 }
    this.definitions.set(kind, fresh)
    return fresh
  }

  /** Notes an item that was not brought over, or not whole. */
  noteItem(item: NotedItem): void {
    if (this.#named.length === NAMED_MAX) this.#unnamed_count += 1
    else {
      const name = printable(item.name).slice(0, NAME_LENGTH_MAX)
      this.#named.push({ ...item, name })
    }
  }

  note(text: string): void {
    this.#notes.add(text)
  }

  /** The report as data; `rows` are the stages that read tables. */
  toJSON(rows: object): object {
    return {
      ...rows,
      definitions: Object.fromEntries(this.definitions),
      left_out: this.#named,
      left_out_not_named: this.#unnamed_count,
      notes: [...this.#notes],
    }
  }

  /** The lines for a terminal. */
  toLines(): readonly string[] {
    const kinds = [...this.definitions].map(
      ([kind, { created, updated, unchanged, left_out }]) =>
        `${kind}: ${created} created, ${updated} updated, ${unchanged} unchanged, ${left_out} left out`,
    )
    const named = this.#named
      .slice(0, PRINTED_MAX)
      .map(
        ({ kind, id, name, reason }) =>
          `not brought over: ${kind} ${id} ${JSON.stringify(name)}: ${reason}`,
      )
    const rest = this.#named.length + this.#unnamed_count - named.length
    const more = rest > 0 ? [`and ${rest} more, see the report`] : []
    return [...kinds, ...named, ...more, ...this.#notes]
  }
}

/** Counts a reason, in a table that is part of the progress. */
export function countReason(
  left_out: { [kind: string]: { [reason: string]: number } },
  kind: string,
  reason: string,
): void {
  const counts = (left_out[kind] ??= {})
  const is_named = Object.hasOwn(counts, reason) || Object.keys(counts).length < REASONS_MAX
  const named = is_named ? reason : 'other reasons'
  counts[named] = (counts[named] ?? 0) + 1
}

/** Writes the report as a file, whole. */
export function writeReport(path: string, report: object): void {
  writeFileSync(`${path}.new`, `${JSON.stringify(report, null, 2)}\n`, { mode: 0o600 })
  renameSync(`${path}.new`, path)
}
