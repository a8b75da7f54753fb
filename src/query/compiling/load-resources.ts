/** Reads the rows of tables that are kept outside of the engine, before the query that names them is compiled. */
import { MIB } from '../../bytes.ts'
import { Refusal, refuseMember } from '../../errors.ts'
import type { CompileContext } from '../../hogql/context.ts'
import {
  RESOURCE_NAMES,
  type ResourceLists,
  type ResourceName,
} from '../../hogql/tables/resources.ts'
import { refusalFromData, refusalToData, type SentRefusal } from '../../threads/messages.ts'
import type { QueryContext } from '../kinds/prepared-query.ts'

/** The most characters of all such tables of one query: they go through the compiler and to the engine with it. */
const LENGTH_MAX = 12 * MIB

/** The rows of a table, or the refusal to show them. */
type LoadedResource =
  | { readonly kind: 'lists'; readonly lists: ResourceLists }
  | { readonly kind: 'refused'; readonly refusal: SentRefusal }

/** The tables that a query may name. Plain data. */
export type LoadedResources = ReadonlyMap<ResourceName, LoadedResource>

/**
 * Reads the tables that are named by the words. A word may name something else: only a compilation that reads the rows
 * throws the refusal.
 */
export async function loadResources(
  words: ReadonlySet<string>,
  { project, resources }: Pick<QueryContext, 'project' | 'resources'>,
): Promise<LoadedResources> {
  const loaded = new Map<ResourceName, LoadedResource>()
  if (resources === undefined) return loaded
  let length = 0
  for (const name of RESOURCE_NAMES) {
    if (!isNamed(name, words) || project.hidden_tables.includes(name)) continue
    // Tables beyond the limit are not read.
    const resource = length > LENGTH_MAX ? TOO_LONG : await loadResource(name, resources)
    if (resource.kind === 'lists') length += lengthOf(resource.lists)
    loaded.set(name, length > LENGTH_MAX ? TOO_LONG : resource)
  }
  return loaded
}

const isNamed = (name: ResourceName, words: ReadonlySet<string>): boolean =>
  words.has(name) || name.split('.').every((part) => words.has(part))

async function loadResource(
  name: ResourceName,
  resources: NonNullable<QueryContext['resources']>,
): Promise<LoadedResource> {
  try {
    return { kind: 'lists', lists: await resources(name) }
  } catch (error) {
    if (error instanceof Refusal) return refused(error)
    throw error
  }
}

const refused = (refusal: Refusal): LoadedResource => ({
  kind: 'refused',
  refusal: refusalToData(refusal),
})

const TOO_LONG = refused(
  refuseMember(
    `The system tables of a query have at most ${LENGTH_MAX} characters together.`,
    'query',
  ),
)

const lengthOf = (lists: ResourceLists): number =>
  Object.values(lists).reduce((sum, list) => sum + list.length, 0)

/** Hands the loaded tables to the compiler. */
export function resourceReader(loaded: LoadedResources): NonNullable<CompileContext['resources']> {
  return (name) => {
    const resource = loaded.get(name)
    if (resource === undefined) {
      const detail = `${name} must be named by the query itself, without escapes.`
      throw refuseMember(detail, 'query')
    }
    if (resource.kind === 'refused') throw refusalFromData(resource.refusal)
    return resource.lists
  }
}
