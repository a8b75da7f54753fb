/** The projects that the query process has open: opened when first asked, closed when others are asked more. */
import { join } from 'node:path'
import { Refusal } from '../../errors.ts'
import type { InstanceOptions } from '../../storage/duckdb/duckdb.ts'
import { openingError } from './engine-errors.ts'
import { SlotsFull } from './file-slots.ts'
import type { NeededColumns } from './materialized-columns.ts'
import { ProjectStore } from './project-store.ts'

export type ProjectsOptions = {
  readonly data_dir: string
  readonly work_dir: string
  /** Projects that stay open; the one asked longest ago is closed for a further one. */
  readonly projects_max: number
  /** Files a project may gain before its store is opened again. */
  readonly spare_slots: number
  /** `spill_dir` gets a folder for each open project. */
  readonly instance: InstanceOptions
}

/** What a query needs: copies of tables, property columns, and its own relations of the events. */
export type ProjectNeeds = NeededColumns & { readonly reads: readonly string[] }

const NOTHING_WANTED: ProjectNeeds = { reads: [], columns: [], relations: [] }

/** Properties that one query may name: each is a column of every file. */
const COLUMNS_MAX = 1000
/** How often a query opens its project again, when others fill it with what they want. */
const ATTEMPTS_MAX = 4

type OpenProject = {
  readonly opening: Promise<ProjectStore>
  users: number
  is_retired: boolean
}

export class OpenProjects {
  readonly #options: ProjectsOptions
  /** In the order in which they were asked last. */
  readonly #open = new Map<number, OpenProject>()
  #opened = 0

  constructor(options: ProjectsOptions) {
    this.#options = options
  }

  /** Runs `work` on the project's store, which has what is wanted as of the last commit. */
  async use<T>(
    project_id: number,
    request: ProjectNeeds,
    work: (store: ProjectStore) => Promise<T>,
  ): Promise<T> {
    if (request.columns.length > COLUMNS_MAX) throw tooManyColumns()
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      const project = this.#take(project_id)
      project.users += 1
      try {
        const store = await project.opening.catch((error: unknown) => {
          throw openingError(error)
        })
        return await useStore(store, request, work)
      } catch (error) {
        if (!(error instanceof SlotsFull)) throw error
        this.#retire(project_id, project)
      } finally {
        project.users -= 1
        closeIfUnused(project)
      }
    }
    throw new Refusal('throttled', 'Too many queries name other properties. Try again soon.')
  }

  /** Takes the newest manifest into every open project; one that cannot is closed, and refuses when asked again. */
  async adoptManifest(): Promise<void> {
    // A copy, because use moves what it uses to the end.
    for (const [project_id, project] of new Map(this.#open)) {
      await this.use(project_id, NOTHING_WANTED, async () => undefined).catch(() => {
        this.#retire(project_id, project)
      })
    }
  }

  /** Closes a project; its next query opens it again. */
  reopen(project_id: number): void {
    const project = this.#open.get(project_id)
    if (project !== undefined) this.#retire(project_id, project)
  }

  #take(project_id: number): OpenProject {
    const project = this.#open.get(project_id) ?? this.#openProject(project_id)
    // Asked last goes to the end.
    this.#open.delete(project_id)
    this.#open.set(project_id, project)
    for (const [oldest_id, oldest] of this.#open) {
      if (this.#open.size <= this.#options.projects_max) break
      this.#retire(oldest_id, oldest)
    }
    return project
  }

  #openProject(project_id: number): OpenProject {
    const { data_dir, work_dir, spare_slots, instance } = this.#options
    this.#opened += 1
    const name = `${project_id}-${this.#opened}`
    const opening = ProjectStore.open({
      data_dir,
      folder: join(work_dir, name),
      spare_slots,
      // Instances name their spill files alike: two in one folder would overwrite each other's.
      instance: { ...instance, spill_dir: join(instance.spill_dir, name) },
      project_id,
    })
    const project: OpenProject = { opening, users: 0, is_retired: false }
    opening.catch(() => this.#retire(project_id, project))
    return project
  }

  #retire(project_id: number, project: OpenProject): void {
    if (this.#open.get(project_id) === project) this.#open.delete(project_id)
    if (project.is_retired) return
    project.is_retired = true
    closeIfUnused(project)
  }
}

async function useStore<T>(
  store: ProjectStore,
  request: ProjectNeeds,
  work: (store: ProjectStore) => Promise<T>,
): Promise<T> {
  const release = store.want(request)
  try {
    await store.follow(request.reads)
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
function closeIfUnused(project: OpenProject): void {
  if (!project.is_retired || project.users > 0) return
  project.opening.then((store) => store.close()).catch(() => undefined)
}
