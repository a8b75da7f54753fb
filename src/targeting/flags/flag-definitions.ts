/**
 * Each project's flags compiled in memory; the first request after a change compiles them again, so they are
 * always current.
 */
import { and, asc, count, eq, gt, sql } from 'drizzle-orm'
import { ResultCache } from '../../flags/decision-cache/result-cache.ts'
import { type CompiledFlags, compileDefinitions } from '../../flags/definition.ts'
import type { GroupType, StoredCohort, StoredFlag } from '../../flags/definition-types.ts'
import type { ControlDB } from '../../projects/rights/access.ts'
import { findProjectByToken, type Project } from '../../projects/settings/project.ts'
import { ClockCache } from '../../storage/clock-cache.ts'
import type { ControlChanges } from '../../storage/control/control-changes.ts'
import type { PersonReader } from '../../storage/persons/person-reader.ts'
import { readPages } from '../../threads/sliced-json.ts'
import { cohorts, definition_versions, feature_flags } from '../tables.ts'
import { compileInSlices } from './compile-in-slices.ts'
import { type FlagInputs, inputsOf } from './flag-inputs.ts'

/** A project's compiled flags. */
export type ProjectFlags = {
  readonly project_id: number
  readonly definitions: CompiledFlags
  readonly inputs: FlagInputs
  readonly group_types: readonly GroupType[]
}

type CachedFlags = {
  readonly flags: ProjectFlags
  readonly version: number
  /** The state of control.db at which `version` was last compared. */
  checked: number
}

/**
 * The most cached projects and tokens; unknown tokens are looked up each time, so that guesses fill no cache.
 */
const PROJECTS_CACHED_MAX = 512
const TOKENS_CACHED_MAX = 10_000
const GROUP_TYPES_MAX = 5
/** The most flags, and cohorts, compiled within one turn of the event loop, and their bytes: 10 ms. */
const ITEMS_AT_ONCE_MAX = 200
const BYTES_AT_ONCE_MAX = 512 * 1024
/** Rows per read of larger projects: each may have 256 KiB of JSON. */
const PAGE_ROWS = 10
/** Restarts of a read that saw the project change; after them, pages of several states are accepted. */
const READS_MAX = 3
/** No state of control.db: forces a comparison of versions. */
const UNCHECKED = -1

/** A compilation under way, of this version or a later one. */
type RunningCompilation = { readonly version: number; readonly flags: Promise<ProjectFlags> }

/** The databases that definitions are read from. */
export type DefinitionSources = {
  readonly control: ControlDB
  readonly watch: Pick<ControlChanges, 'expectChange' | 'version'>
  readonly persons: Pick<PersonReader, 'listGroupTypes'>
}

/** Caches compiled definitions by project, and projects by token; at most one commit out of date. */
export class FlagDefinitions {
  readonly #sources: DefinitionSources
  readonly #projects = new ClockCache<CachedFlags>(PROJECTS_CACHED_MAX)
  readonly #result_cache = new ResultCache()
  /** Compilations under way, by project. */
  readonly #compiling = new Map<number, RunningCompilation>()
  readonly #tokens = new ClockCache<Project>(TOKENS_CACHED_MAX)
  #tokens_checked = -1

  constructor(sources: DefinitionSources) {
    this.#sources = sources
  }

  /** Called after this process has written, so that the rest of this turn of the event loop sees the change. */
  expectChange(): void {
    this.#sources.watch.expectChange()
  }

  /** Returns the project of a token, or null. */
  findProject(api_token: string): Project | null {
    const version = this.#sources.watch.version()
    if (version !== this.#tokens_checked) this.#tokens.clear()
    this.#tokens_checked = version
    const stored = this.#tokens.get(api_token)
    if (stored !== undefined) return stored
    const project = findProjectByToken(this.#sources.control, api_token)
    if (project !== null) this.#tokens.set(api_token, project)
    return project
  }

  /**
   * Returns a project's flags, current as of now. `group_types` are the caller's names: an unknown one causes a
   * new read, as events may have created it.
   */
  flagsOf(project_id: number, group_types: readonly string[] = []): ProjectFlags {
    const key = String(project_id)
    const checked = this.#sources.watch.version()
    const cached = this.#projects.get(key)
    if (cached?.checked === checked) return this.#withGroupTypes(cached, group_types)
    const version = this.#versionOf(project_id)
    if (cached?.version === version) {
      cached.checked = checked
      return this.#withGroupTypes(cached, group_types)
    }
    const types = this.#sources.persons.listGroupTypes(project_id)
    const flags = this.#compile(project_id, types)
    this.#projects.set(key, { flags, version, checked })
    return flags
  }

  /**
   * Returns a project's flags as a transaction of this process sees them. It may be rolled back, so that what differs
   * from the cached flags is not cached.
   */
  uncommittedFlagsOf(project_id: number): ProjectFlags {
    const cached = this.#projects.get(String(project_id))
    if (cached?.version === this.#versionOf(project_id)) return cached.flags
    return this.#compile(project_id, this.#sources.persons.listGroupTypes(project_id))
  }

  /**
   * Returns a project's flags for callers that can wait: many flags are compiled a few per turn of the event
   * loop, in one compilation for all waiting callers (single flight).
   */
  readyFlagsOf(
    project_id: number,
    group_types: readonly string[] = [],
  ): ProjectFlags | Promise<ProjectFlags> {
    const cached = this.#projects.get(String(project_id))
    const checked = this.#sources.watch.version()
    const is_current =
      (cached?.checked === checked || cached?.version === this.#versionOf(project_id)) &&
      this.#newGroupTypes(cached.flags, group_types) === null
    const is_quick = is_current || (!this.#compiling.has(project_id) && this.#isSmall(project_id))
    if (is_quick) return this.flagsOf(project_id, group_types)
    return this.#compileSlowly(project_id)
  }

  /** Runs one compilation of a project at a time; each waiting caller gets one that began after its request. */
  async #compileSlowly(project_id: number): Promise<ProjectFlags> {
    const version = this.#versionOf(project_id)
    for (;;) {
      const compilation = this.#compiling.get(project_id) ?? this.#beginCompiling(project_id)
      const flags = await compilation.flags
      if (compilation.version >= version) return flags
    }
  }

  #beginCompiling(project_id: number): RunningCompilation {
    const version = this.#versionOf(project_id)
    const flags = this.#compileInSlices(project_id)
      .then((compiled) => {
        this.#projects.set(String(project_id), { flags: compiled, version, checked: UNCHECKED })
        return compiled
      })
      .finally(() => this.#compiling.delete(project_id))
    const compilation = { version, flags }
    this.#compiling.set(project_id, compilation)
    return compilation
  }

  async #compileInSlices(project_id: number): Promise<ProjectFlags> {
    const group_types = this.#sources.persons.listGroupTypes(project_id)
    const stored = { ...(await this.#readInSlices(project_id)), group_types }
    const definitions = await compileInSlices(stored, this.#result_cache)
    return { project_id, definitions, inputs: inputsOf(definitions), group_types }
  }

  /**
   * Reads all pages in one state of the database; when the project changes all the time, in successive states.
   */
  async #readInSlices(project_id: number) {
    const { control } = this.#sources
    for (let tries = 1; ; tries += 1) {
      const version = this.#versionOf(project_id)
      const flags = await readPages<StoredFlag>(
        (last) => listStoredFlags(control, project_id, last?.id ?? 0),
        PAGE_ROWS,
      )
      const stored_cohorts = await readPages<StoredCohort>(
        (last) => listStoredCohorts(control, project_id, last?.id ?? 0),
        PAGE_ROWS,
      )
      if (tries < READS_MAX && this.#versionOf(project_id) !== version) continue
      return { flags, cohorts: stored_cohorts }
    }
  }

  /** Whether a project has an active flag. */
  hasActiveFlags(project_id: number): boolean {
    const { active, deleted, id } = feature_flags
    const its = and(eq(feature_flags.project_id, project_id), eq(deleted, false), eq(active, true))
    const row = this.#sources.control.select({ id }).from(feature_flags).where(its).limit(1).get()
    return row !== undefined
  }

  /** Returns a project's flags with all of its group types, for callers that can wait. */
  readyFlagsWithAllGroupTypes(project_id: number): ProjectFlags | Promise<ProjectFlags> {
    const types = this.#sources.persons.listGroupTypes(project_id)
    return this.readyFlagsOf(
      project_id,
      types.map((type) => type.group_type),
    )
  }

  #withGroupTypes(stored: CachedFlags, names: readonly string[]): ProjectFlags {
    const { flags } = stored
    const types = this.#newGroupTypes(flags, names)
    if (types === null) return flags
    const newer = this.#compile(flags.project_id, types)
    this.#projects.set(String(flags.project_id), { ...stored, flags: newer })
    return newer
  }

  /** The project's group types, when flags lack one of these names that events have created since; else null. */
  #newGroupTypes(
    { project_id, group_types, definitions }: ProjectFlags,
    names: readonly string[],
  ): readonly GroupType[] | null {
    if (names.length === 0 || group_types.length >= GROUP_TYPES_MAX) return null
    if (names.every((name) => definitions.group_types.includes(name))) return null
    const types = this.#sources.persons.listGroupTypes(project_id)
    return types.length === group_types.length ? null : types
  }

  #compile(project_id: number, group_types: readonly GroupType[]): ProjectFlags {
    const stored = this.#readStored(project_id, group_types)
    const definitions = compileDefinitions(stored, this.#result_cache)
    return { project_id, definitions, inputs: inputsOf(definitions), group_types }
  }

  #readStored(project_id: number, group_types: readonly GroupType[]) {
    const { control } = this.#sources
    return {
      flags: listStoredFlags(control, project_id),
      cohorts: listStoredCohorts(control, project_id),
      group_types,
    }
  }

  /** Whether a project's definitions are few and short enough to be compiled within one turn of the event loop. */
  #isSmall(project_id: number): boolean {
    return [feature_flags, cohorts].every((table) => {
      const its = and(eq(table.project_id, project_id), eq(table.deleted, false))
      const bytes = sql<number | null>`sum(octet_length(${table.filters}))`
      const row = this.#sources.control
        .select({ items: count(), bytes })
        .from(table)
        .where(its)
        .get()
      return (row?.items ?? 0) < ITEMS_AT_ONCE_MAX && (row?.bytes ?? 0) < BYTES_AT_ONCE_MAX
    })
  }

  #versionOf(project_id: number): number {
    const row = this.#sources.control
      .select()
      .from(definition_versions)
      .where(eq(definition_versions.project_id, project_id))
      .get()
    return row?.version ?? 0
  }
}

/** Lists a project's flags that are not deleted, oldest first: all of them, or the page after an id. */
function listStoredFlags(
  db: ControlDB,
  project_id: number,
  after: number | null = null,
): readonly StoredFlag[] {
  const its = and(
    eq(feature_flags.project_id, project_id),
    eq(feature_flags.deleted, false),
    after === null ? undefined : gt(feature_flags.id, after),
  )
  const rows = db.select().from(feature_flags).where(its).orderBy(asc(feature_flags.id))
  return (after === null ? rows.all() : rows.limit(PAGE_ROWS).all()).map(storedFlag)
}

/** The members of a flag's row that evaluation reads. */
export function storedFlag(row: typeof feature_flags.$inferSelect): StoredFlag {
  return {
    id: row.id,
    key: row.key,
    name: row.name,
    filters: row.filters,
    active: row.active,
    deleted: row.deleted,
    version: row.version,
    ensure_experience_continuity: row.ensure_experience_continuity,
    bucketing_identifier: row.bucketing_identifier,
    evaluation_runtime: row.evaluation_runtime,
    evaluation_contexts: row.evaluation_contexts,
  }
}

function listStoredCohorts(
  db: ControlDB,
  project_id: number,
  after: number | null = null,
): readonly StoredCohort[] {
  const { id, is_static, deleted, filters } = cohorts
  const its = and(
    eq(cohorts.project_id, project_id),
    eq(cohorts.deleted, false),
    after === null ? undefined : gt(id, after),
  )
  const rows = db
    .select({ id, is_static, deleted, filters })
    .from(cohorts)
    .where(its)
    .orderBy(asc(id))
  return after === null ? rows.all() : rows.limit(PAGE_ROWS).all()
}
