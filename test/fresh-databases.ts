/**
 * Databases of a new data folder, copied: 52 migrations take 24 ms of processor time, a copy of what they leave 3 ms. The
 * file to copy is made once per version of the migrations, by them.
 */
import { createHash, randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { CONTROL_MIGRATIONS, EVENTS_MIGRATIONS } from '../src/storage/sqlite/sql-files.ts'
import { type Migration, migrate, openWriter } from '../src/storage/sqlite/sqlite.ts'

/** Takes the place of the id that migrations draw at random: each copy gets another one there. */
const PLACEHOLDER = 'd00dad1dd00dad1dd00dad1d'

type FreshDatabase = {
  readonly migrations: readonly Migration[]
  /** Writes the placeholder. */
  readonly id_sql: string
}

const DATABASES = {
  events: {
    migrations: EVENTS_MIGRATIONS,
    id_sql: `update log_ids set log_id = '${PLACEHOLDER}'`,
  },
  control: { migrations: CONTROL_MIGRATIONS, id_sql: `update home set home_id = '${PLACEHOLDER}'` },
} as const satisfies Record<string, FreshDatabase>

type DatabaseName = keyof typeof DATABASES

type Template = { readonly bytes: Buffer; readonly ids_at: readonly number[] }

const FOLDER = join(import.meta.dir, '../node_modules/.cache/tidemark-tests/databases')

const templates = new Map<DatabaseName, Template>()

/** Writes a database into a data folder as `migrate` leaves a new one. */
export function copyFreshDatabase(name: DatabaseName, data_dir: string): void {
  const { bytes, ids_at } = templates.get(name) ?? loadTemplate(name)
  const copy = Buffer.from(bytes)
  const id = randomBytes(PLACEHOLDER.length / 2).toString('hex')
  for (const at of ids_at) copy.write(id, at, 'latin1')
  writeFileSync(join(data_dir, `${name}.db`), copy)
}

function loadTemplate(name: DatabaseName): Template {
  const database = DATABASES[name]
  const texts = [...database.migrations.map(({ sql }) => sql), database.id_sql].join('\n')
  const version = createHash('sha256').update(texts).digest('hex').slice(0, 16)
  const path = join(FOLDER, `${name}-${version}.db`)
  if (!existsSync(path)) makeTemplate(path, database)
  const bytes = readFileSync(path)
  const ids_at: number[] = []
  for (let at = -1; (at = bytes.indexOf(PLACEHOLDER, at + 1, 'latin1')) >= 0; ) ids_at.push(at)
  const template = { bytes, ids_at }
  templates.set(name, template)
  return template
}

/** Several processes may make it at once: each under a name of its own, renamed when it is whole. */
function makeTemplate(path: string, { migrations, id_sql }: FreshDatabase): void {
  mkdirSync(FOLDER, { recursive: true })
  const temporary = `${path}.${process.pid}`
  const db = openWriter(temporary)
  migrate(db, migrations)
  db.run(id_sql)
  // Moves the write-ahead log into the file.
  db.close()
  renameSync(temporary, path)
}
