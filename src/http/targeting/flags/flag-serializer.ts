/** Serializes feature flags for the management API. */

import type { CompiledFlags } from '../../../flags/definition.ts'
import { localVerdict } from '../../../flags/local/local.ts'
import { findSets } from '../../../flags/plan.ts'
import { isObject } from '../../../json.ts'
import { isShown, type Rights, rightsIn } from '../../../projects/rights/rights.ts'
import type { Flag } from '../../../targeting/flags/flag.ts'
import { type FlagLinks, readLinks } from '../../../targeting/flags/flag-links.ts'
import { statusOf } from '../../../targeting/flags/flag-status.ts'
import type { AppContext } from '../../app-context.ts'
import { authorFinder } from '../../callers/authors.ts'
import type { ShownTo } from './linked-flags.ts'

/** Serializes flags of one project during one request. */
type SerializeFlag = (flag: Flag) => object

/**
 * Creates a serializer; it reads the objects linked to a project's flags once for all of them, and waits until the flags
 * are compiled, which takes slices of the event loop where they are many.
 */
export async function flagSerializer(
  app: AppContext,
  { caller, project }: ShownTo,
): Promise<SerializeFlag> {
  const project_id = project.id
  const rights = rightsIn(app.control, caller, project)
  const nameAuthor = authorFinder(app)
  const linksOf = await readLinks(app.control, project_id)
  const { definitions } = await app.flags.readyFlagsOf(project_id)
  return (flag) => {
    const links = linksOf(flag.id)
    return {
      ...flagMembers(flag),
      ...simpleMembers(flag.filters),
      created_by: nameAuthor(flag.created_by),
      last_modified_by: nameAuthor(flag.last_modified_by),
      ...linkMembers(links, rights),
      status: statusOf(flag, undefined, app.now()).status,
      local_evaluation: verdictOf(definitions, flag),
    }
  }
}

/** The stored members, under the names of the interface. */
function flagMembers(flag: Flag): object {
  const { project_id: _project, created_by: _by, last_modified_by: _modifier, ...stored } = flag
  return {
    ...stored,
    evaluation_tags: flag.evaluation_contexts,
    has_encrypted_payloads: false,
    can_edit: true,
    user_access_level: 'editor',
    is_used_in_replay_settings: false,
  }
}

function linkMembers({ experiment_set, surveys, features }: FlagLinks, rights: Rights): object {
  return {
    experiment_set,
    surveys: isShown(rights, 'flag.surveys') ? surveys : [],
    features: isShown(rights, 'flag.features') ? features : [],
  }
}

/**
 * Derives `is_simple_flag` and `rollout_percentage`: set for a flag with a single condition set without
 * filters.
 */
function simpleMembers(filters: unknown): object {
  const [only, ...others] = isObject(filters) ? findSets(filters) : []
  const properties = isObject(only) ? (only['properties'] ?? []) : null
  const is_simple =
    isObject(only) &&
    others.length === 0 &&
    Array.isArray(properties) &&
    properties.length === 0 &&
    isObject(filters) &&
    (filters['aggregation_group_type_index'] ?? null) === null
  return {
    is_simple_flag: is_simple,
    rollout_percentage: is_simple ? (only['rollout_percentage'] ?? null) : null,
  }
}

/** Whether SDKs can evaluate the flag locally, and the reason if not. */
function verdictOf(definitions: CompiledFlags, flag: Flag): object | null {
  return flag.deleted ? null : localVerdict(definitions, flag.key)
}
