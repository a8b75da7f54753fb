/** Finds the project of a capture token: a cache over control.db, invalidated by every commit there. */
import type { Database, Statement } from 'bun:sqlite'
import { join } from 'node:path'
import { ClockCache } from '../clock-cache.ts'
import { openReader } from '../sqlite/sqlite.ts'

/** A plugin configuration of a project as it is stored. */
type CapturePlugin = {
  readonly id: number
  readonly plugin_id: number
  readonly enabled: boolean
  /** A JSON object. */
  readonly config: string
}

/** The settings of a project that ingestion uses. */
export type CaptureProject = {
  readonly id: number
  readonly anonymize_ips: boolean
  /** In execution order; missing means none. */
  readonly plugins?: readonly CapturePlugin[]
}

const SELECT_PLUGINS = `select id, plugin_id, enabled, config
from plugin_configs
where project_id = ?
order by position, id`

type TokenPluginRow = Omit<CapturePlugin, 'enabled'> & { readonly enabled: number }

/** Cached tokens; unknown tokens are not cached, so that guesses cannot fill the cache. */
const TOKENS_CACHED_MAX = 10_000

/** Reads tokens from control.db, which the main thread and the command line write. */
export class ProjectTokens {
  readonly #db: Database
  readonly #projects = new ClockCache<CaptureProject>(TOKENS_CACHED_MAX)
  readonly #data_version: Statement<{ data_version: number }, []>
  readonly #select: Statement<{ id: number; anonymize_ips: number }, [string]>
  readonly #select_plugins: Statement<TokenPluginRow, [number]>
  readonly #select_moved: Statement<{ project_id: number }, [string]>
  #version = -1
  #is_trusted = false

  constructor(data_dir: string) {
    this.#db = openReader(join(data_dir, 'control.db'))
    this.#data_version = this.#db.prepare('pragma data_version')
    this.#select = this.#db.prepare('select id, anonymize_ips from projects where api_token = ?')
    this.#select_plugins = this.#db.prepare(SELECT_PLUGINS)
    this.#select_moved = this.#db.prepare(
      'select project_id from moved_projects where api_token = ? and left_at is not null',
    )
  }

  /** Makes the next look-up check for commits to control.db; called before each group of requests. */
  invalidate(): void {
    this.#is_trusted = false
  }

  /** The project a token belongs to, or null. */
  find(token: string): CaptureProject | null {
    if (!this.#is_trusted) this.#refresh()
    const cached = this.#projects.get(token)
    if (cached !== undefined) return cached
    const row = this.#select.get(token)
    if (row === null) return null
    const plugins = this.#select_plugins
      .all(row.id)
      .map((plugin) => ({ ...plugin, enabled: plugin.enabled === 1 }))
    const project = { id: row.id, anonymize_ips: row.anonymize_ips === 1, plugins }
    this.#projects.set(token, project)
    return project
  }

  /** Whether a token without a project is that of one which another server has now. */
  isMoved(token: string): boolean {
    return this.#select_moved.get(token) !== null
  }

  close(): void {
    this.#db.close(true)
  }

  #refresh(): void {
    const version = this.#data_version.get()?.data_version ?? -1
    if (version !== this.#version) this.#projects.clear()
    this.#version = version
    this.#is_trusted = true
  }
}
