/** PERSON_TABLES: writes changed rows of persons, groups and cohorts as lines, which ClickHouse reads with the same list. */

import type { Database } from 'bun:sqlite'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PERSON_TABLES } from '../person-tables.ts'
import type { PersonFile } from '../protocol.ts'

/** Characters per file: what one INSERT has. */
const FILE_LENGTH_MAX = 8 * 1024 * 1024

type PersonRange = { readonly after: number; readonly up_to: number }

/** Writes the rows that changed within the range, in the order of PERSON_TABLES. They are as of now, or a little later. */
export function writePersonLines(
  db: Database,
  folder: string,
  range: PersonRange,
): readonly PersonFile[] {
  return PERSON_TABLES.flatMap(({ table, source, select }) => {
    const writer = new LineFiles(folder, table)
    const rows = db.query<{ line: string }, PersonRange>(inAllProjects(source, select))
    for (const { line } of rows.iterate(range)) writer.add(line)
    return writer.end()
  })
}

/** Rows of every project by its own index: one seek per project finds which there are. */
function inAllProjects(source: string, select: string): string {
  return `with recursive found(id) as (
  select min(project_id) from ${source}
  union all
  select (select min(project_id) from ${source} where project_id > found.id) from found where id is not null
)
select ${select}
from found
join ${source} as r on r.project_id = found.id and r.change > $after and r.change <= $up_to`
}

/** Lines as files of bounded length. */
class LineFiles {
  readonly #folder: string
  readonly #table: string
  readonly #files: PersonFile[] = []
  #lines: string[] = []
  #length = 0

  constructor(folder: string, table: string) {
    this.#folder = folder
    this.#table = table
  }

  add(line: string): void {
    this.#lines.push(line)
    this.#length += line.length
    if (this.#length >= FILE_LENGTH_MAX) this.#flush()
  }

  end(): readonly PersonFile[] {
    this.#flush()
    return this.#files
  }

  #flush(): void {
    if (this.#lines.length === 0) return
    const path = join(this.#folder, `${this.#table}-${Bun.randomUUIDv7()}.lines`)
    writeFileSync(path, `${this.#lines.join('\n')}\n`, { mode: 0o600 })
    this.#files.push({ table: this.#table, path, rows: this.#lines.length })
    this.#lines = []
    this.#length = 0
  }
}
