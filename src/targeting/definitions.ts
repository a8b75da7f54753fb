/** Each project's flags compiled in memory, and compiled anew by the first request after a change (issue 4, "always current"). */
import { and, asc, eq } from 'drizzle-orm'
import { compileDefinitions, type Definitions } from '../flags/definition.ts'
import { RememberedLetters } from '../flags/remembered.ts'
import type { GroupType, StoredCohort, StoredFlag } from '../flags/stored.ts'
import type { ControlDB } from '../projects/access.ts'
import { findProjectByToken, type Project } from '../projects/project.ts'
import type { ControlWatch } from '../storage/control-watch.ts'
import type { PeopleReader } from '../storage/people-reader.ts'
import { RecentCache } from '../storage/recent-cache.ts'
import { type Reads, readsOf } from './reads.ts'
import { cohorts, definition_versions, feature_flags } from './tables.ts'

/** A project's flags, ready to be asked. */
export type ProjectFlags = {
  readonly project_id: number
  readonly definitions: Definitions
  readonly reads: Reads
  readonly group_types: readonly GroupType[]
}

type Known = {
  readonly flags: ProjectFlags
  readonly version: number
  /** The state of control.db in which `version` was last looked at. */
  checked: number
}

/** Projects and tokens kept in memory; unknown tokens are looked up each time, so that guesses fill nothing. */
const PROJECTS_CACHED_MAX = 512
const TOKENS_CACHED_MAX = 10_000
const GROUP_TYPES_MAX = 5

/** What the definitions are read from. */
export type DefinitionSources = {
  readonly control: ControlDB
  readonly watch: Pick<ControlWatch, 'expectChange' | 'version'>
  readonly people: Pick<PeopleReader, 'listGroupTypes'>
}

/** Compiled definitions by project, and projects by token, never out of date by more than a commit. */
export class FlagDefinitions {
  readonly #sources: DefinitionSources
  readonly #known = new RecentCache<Known>(PROJECTS_CACHED_MAX)
  readonly #remembered = new RememberedLetters()
  readonly #tokens = new RecentCache<Project>(TOKENS_CACHED_MAX)
  #tokens_checked = -1

  constructor(sources: DefinitionSources) {
    this.#sources = sources
  }

  /** Called after this process has written: the rest of this turn of the event loop sees it too. */
  expectChange(): void {
    this.#sources.watch.expectChange()
  }

  /** The project of a token as it is now, or null. */
  findProject(api_token: string): Project | null {
    const version = this.#sources.watch.version()
    if (version !== this.#tokens_checked) this.#tokens.clear()
    this.#tokens_checked = version
    const known = this.#tokens.get(api_token)
    if (known !== undefined) return known
    const project = findProjectByToken(this.#sources.control, api_token)
    if (project !== null) this.#tokens.set(api_token, project)
    return project
  }

  /**
   * A project's flags as they are now. `group_types` are names the caller comes with: where one is not known yet, events
   * may have brought it since.
   */
  flagsOf(project_id: number, group_types: readonly string[] = []): ProjectFlags {
    const key = String(project_id)
    const checked = this.#sources.watch.version()
    const known = this.#known.get(key)
    if (known?.checked === checked) return this.#withGroupTypes(known, group_types)
    const version = this.#versionOf(project_id)
    if (known?.version === version) {
      known.checked = checked
      return this.#withGroupTypes(known, group_types)
    }
    const types = this.#sources.people.listGroupTypes(project_id)
    const flags = this.#compile(project_id, types)
    this.#known.set(key, { flags, version, checked })
    return flags
  }

  /** The same with every group type there is, for those who are told them all. */
  flagsWithAllGroupTypes(project_id: number): ProjectFlags {
    const types = this.#sources.people.listGroupTypes(project_id)
    return this.flagsOf(
      project_id,
      types.map((type) => type.group_type),
    )
  }

  #withGroupTypes(known: Known, wanted: readonly string[]): ProjectFlags {
    const { flags } = known
    if (wanted.length === 0 || flags.group_types.length >= GROUP_TYPES_MAX) return flags
    const isKnown = (name: string): boolean => flags.definitions.group_types.includes(name)
    if (wanted.every(isKnown)) return flags
    const types = this.#sources.people.listGroupTypes(flags.project_id)
    if (types.length === flags.group_types.length) return flags
    const newer = this.#compile(flags.project_id, types)
    this.#known.set(String(flags.project_id), { ...known, flags: newer })
    return newer
  }

  #compile(project_id: number, group_types: readonly GroupType[]): ProjectFlags {
    const { control } = this.#sources
    const stored = {
      flags: listStoredFlags(control, project_id),
      cohorts: listStoredCohorts(control, project_id),
      group_types,
    }
    const definitions = compileDefinitions(stored, this.#remembered)
    return { project_id, definitions, reads: readsOf(definitions), group_types }
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

/** A project's flags that are not deleted, in the order they were made. */
function listStoredFlags(db: ControlDB, project_id: number): readonly StoredFlag[] {
  return db
    .select()
    .from(feature_flags)
    .where(and(eq(feature_flags.project_id, project_id), eq(feature_flags.deleted, false)))
    .orderBy(asc(feature_flags.id))
    .all()
    .map(storedFlag)
}

/** The part of a flag's row that evaluation needs. */
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

function listStoredCohorts(db: ControlDB, project_id: number): readonly StoredCohort[] {
  const { id, is_static, deleted, filters } = cohorts
  return db
    .select({ id, is_static, deleted, filters })
    .from(cohorts)
    .where(and(eq(cohorts.project_id, project_id), eq(cohorts.deleted, false)))
    .orderBy(asc(id))
    .all()
}
