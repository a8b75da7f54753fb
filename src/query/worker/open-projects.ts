/** An LRU of open project stores, each opened by its first query, as many as the address space has room for. */
import { join } from 'node:path'
import { Refusal } from '../../errors.ts'
import { NO_READS, type QueryReads } from '../../hogql/query-reads.ts'
import type { InstanceOptions } from '../../storage/duckdb/duckdb.ts'
import { openingError } from './engine-errors.ts'
import { SlotsFull } from './file-slots.ts'
import type { AddressSpace } from './limits/memory-limit.ts'
import { OpeningRoom } from './limits/opening-room.ts'
import { ProjectStore } from './project-store.ts'

export type ProjectsOptions = {
  readonly data_dir: string
  readonly work_dir: string
  /** Maximum number of open projects; the least recently used one is closed. */
  readonly projects_max: number
  /** Files a project may gain before its store is opened again. */
  readonly spare_slots: number
  /** `spill_dir` gets a folder for each open project. */
  readonly instance: InstanceOptions
  /** The file of macros; null runs their statements. */
  readonly macro_file: string | null
}

/** Maximum number of properties that one query may name: each becomes a column. */
const COLUMNS_MAX = 1000
/** A query reopens its project at most this often, when other queries have filled its slots. */
const ATTEMPTS_MAX = 4
/** The id of no project. */
const NO_PROJECT = 0

type OpenProject = {
  readonly opening: Promise<ProjectStore>
  users: number
  is_retired: boolean
}

export class OpenProjects {
  readonly #options: ProjectsOptions
  /** In the order of their last use. */
  readonly #open = new Map<number, OpenProject>()
  readonly #room: OpeningRoom
  #opened = 0

  constructor(options: ProjectsOptions) {
    this.#options = options
    this.#room = new OpeningRoom(options.instance.threads)
  }

  /** Bounds the open projects by the address space. */
  limitAddresses(addresses: AddressSpace | null): void {
    this.#room.limit(addresses)
  }

  /** Runs `work` on the project's store after it has caught up with the last commit and has the needs of the query. */
  async use<T>(
    project_id: number,
    reads: QueryReads,
    work: (store: ProjectStore) => Promise<T>,
  ): Promise<T> {
    if (countColumns(reads) > COLUMNS_MAX) throw tooManyColumns()
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      const project = this.#take(project_id)
      project.users += 1
      try {
        const store = await project.opening.catch((error: unknown) => {
          throw openingError(error)
        })
        return await useStore(store, reads, work)
      } catch (error) {
        if (!(error instanceof SlotsFull)) throw error
        void this.#retire(project_id, project)
      } finally {
        project.users -= 1
        void closeIfUnused(project)
      }
    }
    throw new Refusal('throttled', 'Too many queries name other properties. Try again soon.')
  }

  /** Adopts the newest manifest in every open project; a project that fails is closed, and its next query is refused. */
  async adoptManifest(): Promise<void> {
    // A copy, because `use` reorders the map.
    for (const [project_id, project] of new Map(this.#open)) {
      // One that was closed meanwhile begins with the newest manifest when it is opened.
      if (this.#open.get(project_id) !== project) continue
      await this.use(project_id, NO_READS, async () => undefined).catch(() => {
        void this.#retire(project_id, project)
      })
    }
  }

  /** Closes a project; its next query opens it again. */
  reopen(project_id: number): void {
    const project = this.#open.get(project_id)
    if (project !== undefined) void this.#retire(project_id, project)
  }

  /** Loads what opening a project loads, by opening an empty one. A failure shows itself again at the first query. */
  async warm(): Promise<void> {
    await this.use(NO_PROJECT, NO_READS, async () => undefined).catch(() => undefined)
    this.reopen(NO_PROJECT)
  }

  #take(project_id: number): OpenProject {
    const project = this.#open.get(project_id) ?? this.#openProject(project_id)
    // Move to the end: most recently used.
    this.#open.delete(project_id)
    this.#open.set(project_id, project)
    for (const [oldest_id, oldest] of this.#open) {
      if (this.#open.size <= this.#options.projects_max) break
      void this.#retire(oldest_id, oldest)
    }
    return project
  }

  #openProject(project_id: number): OpenProject {
    const { data_dir, work_dir, spare_slots, instance, macro_file } = this.#options
    this.#opened += 1
    const name = `${project_id}-${this.#opened}`
    const options = {
      data_dir,
      folder: join(work_dir, name),
      spare_slots,
      // Spill files of all instances have the same names: in one folder they would overwrite each other.
      instance: { ...instance, spill_dir: join(instance.spill_dir, name) },
      project_id,
      macro_file,
    }
    const opening = this.#room.open(
      () => this.#closeUnused(),
      () => ProjectStore.open(options),
    )
    const project: OpenProject = { opening, users: 0, is_retired: false }
    void opening.catch(() => this.#retire(project_id, project))
    return project
  }

  /** Closes the least recently used project that no query uses; false when there is none. */
  async #closeUnused(): Promise<boolean> {
    const unused = [...this.#open].find(([, { users }]) => users === 0)
    if (unused === undefined) return false
    await this.#retire(...unused)
    return true
  }

  /** Resolves when the project is closed, or at once when its last query will close it. */
  async #retire(project_id: number, project: OpenProject): Promise<void> {
    if (this.#open.get(project_id) === project) this.#open.delete(project_id)
    if (project.is_retired) return
    project.is_retired = true
    await closeIfUnused(project)
  }
}

async function useStore<T>(
  store: ProjectStore,
  reads: QueryReads,
  work: (store: ProjectStore) => Promise<T>,
): Promise<T> {
  const release = store.acquire(reads)
  try {
    await store.follow(reads.relations)
    return await work(store)
  } finally {
    release()
  }
}

function tooManyColumns(): Refusal {
  const detail = `The query names more than ${COLUMNS_MAX} properties. Ask for less at a time.`
  return new Refusal('query_too_large', detail)
}

/** The last query on a retired project closes it. */
async function closeIfUnused(project: OpenProject): Promise<void> {
  if (!project.is_retired || project.users > 0) return
  await project.opening.then((store) => store.close()).catch(() => undefined)
}

/** The properties that a query names; each form of events names the same ones. */
function countColumns({ columns, events }: QueryReads): number {
  return columns.length + (events[0]?.columns.length ?? 0)
}
