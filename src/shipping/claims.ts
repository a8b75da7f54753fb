/** Claims projects, and numbers of projects to come, in ClickHouse: of the homes that share it, one has a project. */

import type { ClickHouseNodes } from '../storage/clickhouse/clickhouse-nodes.ts'
import { endInserts, storedAtOnce } from './send.ts'

/** A folder's own records of its name and its claims. */
type HomeStore = {
  readonly getHome: () => {
    readonly home_id: string
    readonly claimed_log_id: string | null
    readonly number: number | null
    readonly project_ids_to: number | null
  }
  /** All names of its log, the newest last. */
  readonly listLogIds: () => readonly string[]
  /** Its projects, also those whose data is being deleted. */
  readonly listProjects: () => readonly number[]
  readonly nextProjectId: () => number
  /** The home from which a project was taken; null for any other project. */
  readonly findGiver: (project_id: number) => string | null
  readonly forgetGiver: (project_id: number) => void
  readonly storeClaimedLog: (log_id: string) => void
  readonly storeHomeNumber: (number: number) => void
  readonly storeClaimedIds: (from: number, to: number) => void
}

/** Another home has what this one would write: nothing is sent until an operator decides. */
export class ClaimFault extends Error {
  override readonly name = 'ClaimFault'
}

/** A project that this home had claimed, and that another one has taken since. */
type LostProject = {
  readonly project_id: number
  /** The number of the home that has it; null where it has none yet. */
  readonly home_number: number | null
}

/**
 * These projects have moved to another home, and the folder is older than the move, since it was restored. Its other
 * projects stay its own.
 */
export class ProjectsMoved extends ClaimFault {
  readonly projects: readonly LostProject[]

  constructor(projects: readonly LostProject[]) {
    const ids = projects.map(({ project_id }) => project_id)
    super(
      `${projectsNamed(ids)} moved to another server: nothing is sent until this one is started again, without ${ids.length === 1 ? 'it' : 'them'}`,
    )
    this.projects = projects
  }
}

type OwnerRow = {
  readonly project_id: number
  readonly version: number
  readonly home_id: string
}

/** The numbers that are claimed ahead, which new projects get while ClickHouse is away. */
const AHEAD = 10
/** The numbers that are searched for AHEAD free ones in a row. */
const SEARCHED_IDS_MAX = 100_000
/** Tries of a claim while other homes claim the same numbers faster. */
const TRIES_MAX = 20
/** The time after which a home asks again whether it is still the living copy. */
const CHECK_MS = 1000
/** The projects that a message names. */
const LISTED_MAX = 5

/** ClickHouse refuses to answer from some shards only, or from a copy that is behind. */
const READ_WHOLE = { skip_unavailable_shards: 0, select_sequential_consistency: 1 }

export class ProjectClaims {
  readonly #nodes: ClickHouseNodes
  readonly #store: HomeStore
  /** Projects that this process knows to be this home's. */
  readonly #owned = new Set<number>()
  #checked_at_ms = Number.NEGATIVE_INFINITY

  constructor(nodes: ClickHouseNodes, store: HomeStore) {
    this.#nodes = nodes
    this.#store = store
  }

  /**
   * Claims every project of the folder, and numbers for the next ones. Throws a ClaimFault that names the projects of
   * other homes, or says that another copy of this folder has taken over; ProjectsMoved when all of them were its own.
   */
  async claim(): Promise<void> {
    if (performance.now() - this.#checked_at_ms >= CHECK_MS) {
      await this.#claimLog()
      this.#checked_at_ms = performance.now()
    }
    if (this.#store.getHome().number === null) await this.#claimNumber()
    const unknown = this.#store.listProjects().filter((id) => !this.#owned.has(id))
    if (unknown.length > 0) await this.#claimProjects(unknown)
    await this.#claimAhead()
  }

  /** Whether a project's rows in ClickHouse are this home's to delete. */
  async owns(project_id: number): Promise<boolean> {
    const [owner] = await this.#listOwners(`project_id = ${project_id}`)
    return owner?.home_id === this.#store.getHome().home_id
  }

  /** A folder claims once under each name of its log: a restored one begins a new name, and so replaces its original. */
  async #claimLog(): Promise<void> {
    const { home_id, claimed_log_id } = this.#store.getHome()
    const log_ids = this.#store.listLogIds()
    const log_id = log_ids.at(-1) ?? ''
    const living = await this.#findLivingLog(home_id)
    if (living?.log_id === log_id) {
      if (claimed_log_id !== log_id) this.#store.storeClaimedLog(log_id)
      return
    }
    const is_replaced =
      claimed_log_id === log_id && living !== null && !log_ids.includes(living.log_id)
    if (is_replaced)
      throw new ClaimFault(
        'another copy of this data folder, restored or taken over from it, has sent to ClickHouse since: only one of them can. What this one has is not sent; stop it, or stop the other and make a backup of this one and restore it',
      )
    const version = (living?.version ?? 0) + 1
    await this.#insert('home_logs', [home_id, version, log_id], `${home_id}/${version}`)
    const winner = await this.#findLivingLog(home_id)
    if (winner?.log_id !== log_id)
      throw new Error('another copy of this data folder has started at the same moment')
    if (living !== null) await endInserts(this.#nodes, living.log_id)
    this.#store.storeClaimedLog(log_id)
  }

  /** The first home there has number 0, the next one 1; one that took a project in gets a higher one again. */
  async #claimNumber(): Promise<void> {
    const { home_id } = this.#store.getHome()
    for (let tries = 0; tries < TRIES_MAX; tries += 1) {
      const [last] = await this.#ask('SELECT count(), max(number) FROM home_numbers')
      const number = Number(last?.[0]) === 0 ? 0 : Number(last?.[1]) + 1
      await this.#insert('home_numbers', [number, home_id], String(number))
      const [winner] = await this.#ask(
        `SELECT home_id FROM home_numbers WHERE number = ${number} ORDER BY claimed_at, home_id LIMIT 1`,
      )
      if (winner?.[0] === home_id) return this.#store.storeHomeNumber(number)
    }
    throw new Error('other servers claim their numbers in ClickHouse at the same moment')
  }

  async #findLivingLog(
    home_id: string,
  ): Promise<{ readonly version: number; readonly log_id: string } | null> {
    const [row] = await this.#ask(
      'SELECT version, log_id FROM home_logs WHERE home_id = {p1:String} ORDER BY version DESC, claimed_at, log_id LIMIT 1',
      [home_id],
    )
    return row === undefined ? null : { version: Number(row[0]), log_id: String(row[1]) }
  }

  async #claimProjects(project_ids: readonly number[]): Promise<void> {
    const { home_id } = this.#store.getHome()
    const which = `project_id IN (${project_ids.join(', ')})`
    const owners = new Map((await this.#listOwners(which)).map((row) => [row.project_id, row]))
    for (const project_id of project_ids) {
      const owner = owners.get(project_id)
      if (owner === undefined || owner.home_id === this.#store.findGiver(project_id))
        await this.#insertOwner(project_id, (owner?.version ?? 0) + 1)
    }
    const winners = new Map((await this.#listOwners(which)).map((row) => [row.project_id, row]))
    for (const project_id of project_ids) {
      if (winners.get(project_id)?.home_id !== home_id) continue
      this.#owned.add(project_id)
      this.#store.forgetGiver(project_id)
    }
    const lost = project_ids.filter((id) => !this.#owned.has(id))
    if (lost.length === 0) return
    const moved = await this.#listMoved(lost)
    if (moved.length === lost.length) throw new ProjectsMoved(moved)
    const moved_ids = new Set(moved.map(({ project_id }) => project_id))
    throw await this.#faultOf(lost.filter((id) => !moved_ids.has(id)))
  }

  /** Finds the projects among these that another home has claimed after this one. */
  async #listMoved(project_ids: readonly number[]): Promise<readonly LostProject[]> {
    const { home_id } = this.#store.getHome()
    const rows = await this.#ask(
      `SELECT project_id, maxIf(version, home_id = {p1:String}) AS own, argMax(home_id, version) AS owner
FROM project_homes WHERE project_id IN (${project_ids.join(', ')}) GROUP BY project_id
HAVING own > 0 AND own < max(version) ORDER BY project_id`,
      [home_id],
    )
    return Promise.all(
      rows.map(async ([project_id, , owner]) => {
        const [number] = await this.#ask(
          'SELECT max(number) FROM home_numbers WHERE home_id = {p1:String} HAVING count() > 0',
          [String(owner)],
        )
        return {
          project_id: Number(project_id),
          home_number: number === undefined ? null : Number(number[0]),
        }
      }),
    )
  }

  async #faultOf(project_ids: readonly number[]): Promise<ClaimFault> {
    const { home_id } = this.#store.getHome()
    const [row] = await this.#ask(
      'SELECT max(project_id) FROM project_homes WHERE home_id <> {p1:String}',
      [home_id],
    )
    const free = Math.ceil((Number(row?.[0] ?? 0) + 1) / 1_000_000) * 1_000_000 + 1
    const belong = project_ids.length === 1 ? 'belongs' : 'belong'
    return new ClaimFault(
      `${projectsNamed(project_ids)} ${belong} to another server in front of this ClickHouse: nothing of this folder is sent, everything stays here. Start with an empty folder and TIDEMARK_PROJECT_ID_MIN=${free}, and bring events over with "tidemark export" and "tidemark import"`,
    )
  }

  /** Claims the next numbers ahead, so that a project can be made at any time, in any way. */
  async #claimAhead(): Promise<void> {
    for (let tries = 0; tries < TRIES_MAX; tries += 1) {
      const { home_id, project_ids_to } = this.#store.getHome()
      const next = this.#store.nextProjectId()
      if (project_ids_to !== null && project_ids_to - next >= AHEAD / 2) return
      const taken = await this.#listOwners(
        `project_id >= ${next} AND project_id < ${next + SEARCHED_IDS_MAX}`,
      )
      const own = new Set(taken.filter((row) => row.home_id === home_id).map((r) => r.project_id))
      const others = taken.filter((row) => row.home_id !== home_id).map((row) => row.project_id)
      const from = firstGap(others, next)
      const ids = Array.from({ length: AHEAD }, (_, index) => from + index)
      await Promise.all(ids.filter((id) => !own.has(id)).map((id) => this.#insertOwner(id, 1)))
      const got = await this.#listOwners(`project_id IN (${ids.join(', ')})`)
      if (got.length < AHEAD || got.some((row) => row.home_id !== home_id)) continue
      this.#store.storeClaimedIds(from, from + AHEAD - 1)
      return
    }
    throw new Error('other servers claim numbers of projects in ClickHouse at the same moment')
  }

  /** The newest claim of each project. */
  async #listOwners(which: string): Promise<readonly OwnerRow[]> {
    const rows = await this.#ask(
      `SELECT project_id, version, home_id FROM project_homes WHERE ${which} ORDER BY project_id, version DESC, claimed_at, home_id LIMIT 1 BY project_id`,
    )
    return rows.map(([project_id, version, home_id]) => ({
      project_id: Number(project_id),
      version: Number(version),
      home_id: String(home_id),
    }))
  }

  #insertOwner(project_id: number, version: number): Promise<void> {
    const { home_id } = this.#store.getHome()
    return this.#insert('project_homes', [project_id, version, home_id], `${project_id}/${version}`)
  }

  /** The token lets the server keep one row of those that race: an atomic test-and-set. */
  async #insert(
    table: 'home_logs' | 'home_numbers' | 'project_homes',
    values: readonly (number | string)[],
    token: string,
  ): Promise<void> {
    const row = [...values, new Date().toISOString().replace('T', ' ').replace('Z', '')]
    await this.#nodes.first.run(`INSERT INTO ${table} FORMAT JSONCompactEachRow`, {
      rows: Buffer.from(JSON.stringify(row)),
      settings: { ...storedAtOnce(this.#nodes), insert_deduplication_token: token },
    })
  }

  async #ask(sql: string, texts: readonly string[] = []): Promise<readonly (readonly unknown[])[]> {
    const text = await this.#nodes.first.run(`${sql} FORMAT JSONCompactEachRow`, {
      texts,
      settings: READ_WHOLE,
    })
    return text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as readonly unknown[])
  }
}

/** “project 7”, or “12 projects (1, 2, 3, 4, 5, …)”. */
function projectsNamed(project_ids: readonly number[]): string {
  const shown = project_ids.slice(0, LISTED_MAX).join(', ')
  if (project_ids.length === 1) return `project ${shown}`
  const more = project_ids.length > LISTED_MAX ? ', …' : ''
  return `${project_ids.length} projects (${shown}${more})`
}

/** The first of AHEAD numbers in a row that others have none of; their numbers are in order. */
function firstGap(others: readonly number[], from: number): number {
  let first = from
  for (const other of others) {
    if (other >= first + AHEAD) break
    first = other + 1
  }
  return first
}
