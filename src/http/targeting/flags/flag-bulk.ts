/** Actions on many flags at once: list keys, delete, tag. */

import {
  DeletedFlags,
  FlagKeys,
  FlagKeysBody,
  FlagsToDelete,
  FlagsToTag,
  MatchingFlags,
  MatchingFlagsQuery,
  TaggedFlags,
} from '../../../contract/targeting/flag-lists.ts'
import { Refusal } from '../../../errors.ts'
import { isObject } from '../../../json.ts'
import type { Caller } from '../../../projects/rights/access.ts'
import type { Project } from '../../../projects/settings/project.ts'
import {
  type Flag,
  findFlag,
  listFlagKeys,
  readFlags,
  updateFlag,
} from '../../../targeting/flags/flag.ts'
import { readLinks } from '../../../targeting/flags/flag-links.ts'
import { rolloutOf } from '../../../targeting/flags/flag-status.ts'
import type { TargetingEditor } from '../../../targeting/shared/editor.ts'
import { mapInSlices, readOneByOne } from '../../../threads/sliced-json.ts'
import { queryOf } from '../../addresses.ts'
import { answerJson } from '../../answers/answers.ts'
import type { AppContext } from '../../app-context.ts'
import { validatorOf } from '../../bodies/shape.ts'
import { targetingEditor } from '../../callers/editors.ts'
import { projectRoute } from '../../route.ts'
import { FLAG_FILTERS, findFlags, hasFilters } from './flag-filters.ts'

const KEYS_BODY = validatorOf(FlagKeysBody)
const TO_DELETE = validatorOf(FlagsToDelete)
const TO_TAG = validatorOf(FlagsToTag)

export const FLAG_BULK_ROUTES = [
  projectRoute({
    method: 'GET',
    path: 'feature_flags/matching_ids/',
    scope: 'feature_flag:read',
    summary: 'List the ids of all flags that match the filters.',
    query: MatchingFlagsQuery,
    answers: { 200: MatchingFlags },
    answer: async (app, { request, project }) => {
      const provided_fields = new Map(new URLSearchParams(queryOf(request.url)))
      const flags = await findFlags(app, { project, request }, provided_fields)
      return answerJson({ ids: flags.map(({ id }) => id), total: flags.length })
    },
  }),
  projectRoute({
    method: 'POST',
    path: 'feature_flags/bulk_keys/',
    scope: 'feature_flag:read',
    summary: 'Read the keys of flags by their ids.',
    body: KEYS_BODY,
    answers: { 200: FlagKeys },
    answer: (app, { body, project }) => {
      const { ids, strange } = idsIn(body.ids ?? [])
      if (ids.length === 0 && strange.length > 0) {
        throw new Refusal('invalid_input', 'Invalid flag IDs provided', { attr: 'ids' })
      }
      const stored = listFlagKeys(app.control, project.id)
      const keys = ids.flatMap((id) => {
        const key = stored.get(id)
        return key === undefined ? [] : [[String(id), key] as const]
      })
      const shown = strange.map((id) => JSON.stringify(id)).join(', ')
      return answerJson({
        keys: Object.fromEntries(keys),
        ...(strange.length === 0 ? {} : { warning: `Invalid flag IDs ignored: ${shown}` }),
      })
    },
  }),
  projectRoute({
    method: 'POST',
    path: 'feature_flags/bulk_delete/',
    scope: 'feature_flag:write',
    summary:
      'Delete flags by ids or by filters; the answer names those that cannot be deleted, with reasons.',
    body: TO_DELETE,
    answers: { 200: DeletedFlags },
    answer: async (app, { body, request, project, caller }) => {
      const { flags, errors } = await flagsToDelete(app, { project, request }, body)
      const editor = bulkEditor(app, project, caller)
      const results = await mapInSlices(flags, ({ id, key }) => {
        // Read again: others edit flags between the slices.
        const flag = findFlag(app.control, project.id, id)
        return flag === null ? { id, key, reason: GONE } : deleteOne(editor, flag, app.now())
      })
      return answerJson({
        deleted: results.filter((result) => !('reason' in result)),
        errors: [...errors, ...results.filter((result) => 'reason' in result)],
      })
    },
  }),
  projectRoute({
    method: 'POST',
    path: 'feature_flags/bulk_update_tags/',
    scope: 'feature_flag:write',
    summary: 'Add, remove or replace the tags of flags.',
    body: TO_TAG,
    answers: { 200: TaggedFlags },
    answer: async (app, { body, project, caller }) => {
      const editor = bulkEditor(app, project, caller)
      const ids = [...new Set(body.ids)]
      const updated = await readOneByOne(ids, (id) => {
        const flag = findFlag(app.control, project.id, id)
        if (flag === null) return undefined
        const tags = CHANGE_TAGS[body.action](flag.tags, body.tags)
        updateFlag(editor, flag, { tags }, app.now())
        return { id, tags }
      })
      const found = new Set(updated.map(({ id }) => id))
      const skipped = ids.filter((id) => !found.has(id))
      return answerJson({
        updated,
        skipped: skipped.map((id) => ({ id, reason: 'Not found' })),
      })
    },
  }),
] as const

type ChangeTags = (before: readonly string[], named: readonly string[]) => string[]

const CHANGE_TAGS: Readonly<Record<'add' | 'remove' | 'set', ChangeTags>> = {
  add: (before, named) => [...new Set([...before, ...named])],
  remove: (before, named) => before.filter((tag) => !named.includes(tag)),
  set: (_before, named) => [...new Set(named)],
}

const GONE = 'Flag not found'

type BulkFailure = { readonly id: unknown; readonly key?: string; readonly reason: string }

/** Returns the flags to delete, and a reason for each id without one. Refuses ambiguous requests. */
async function flagsToDelete(
  app: AppContext,
  requested: { readonly project: Project; readonly request: Request },
  body: { readonly ids?: readonly unknown[]; readonly filters?: Readonly<Record<string, unknown>> },
): Promise<{ readonly flags: readonly Flag[]; readonly errors: readonly BulkFailure[] }> {
  const { ids: wanted = [], filters = {} } = body
  const provided_fields = Object.entries(filters)
  if (provided_fields.length > 0 === wanted.length > 0) {
    const is_both = provided_fields.length > 0
    const detail = is_both
      ? 'Provide either filters or ids, not both'
      : 'Must provide either filters or ids'
    throw new Refusal('invalid_input', detail, { attr: is_both ? 'filters' : 'ids' })
  }
  if (provided_fields.length > 0) {
    return { flags: await findFlags(app, requested, readFilters(provided_fields)), errors: [] }
  }
  const { ids, strange } = idsIn(wanted)
  const present = await readFlags(app.control, requested.project.id, new Set(ids))
  const stored = new Map(present.map((flag) => [flag.id, flag]))
  const linksOf = await readLinks(app.control, requested.project.id)
  const result = (id: number) => {
    const flag = stored.get(id)
    return flag === undefined || linksOf(id).is_of_survey ? undefined : flag
  }
  const missing = ids.filter((id) => result(id) === undefined)
  return {
    flags: ids.flatMap((id) => result(id) ?? []),
    errors: [
      ...strange.map((id) => ({ id, reason: 'Invalid flag ID format' })),
      ...missing.map((id) => ({ id, reason: GONE })),
    ],
  }
}

/** Reads filters. An unknown one would select too many flags, so it is refused. */
function readFilters(
  provided_fields: readonly (readonly [string, unknown])[],
): ReadonlyMap<string, string> {
  const unknown = provided_fields.map(([name]) => name).filter((name) => !FLAG_FILTERS.has(name))
  if (unknown.length > 0) {
    const detail = `Unknown filter keys: ${unknown.toSorted().join(', ').slice(0, 200)}`
    throw new Refusal('invalid_input', detail, { attr: 'filters' })
  }
  const values = provided_fields.map(([name, value]) => {
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    if (!isObject(value) && value !== null && hasFilters(name, text)) return [name, text] as const
    const detail = `The filter ${name} needs a value that leaves flags out.`
    throw new Refusal('invalid_input', detail, { attr: 'filters' })
  })
  return new Map(values)
}

function isId(value: unknown): boolean {
  return (typeof value === 'string' || typeof value === 'number') && /^\d{1,15}$/.test(`${value}`)
}

function idsIn(values: readonly unknown[]): {
  readonly ids: readonly number[]
  readonly strange: readonly unknown[]
} {
  return {
    ids: [...new Set(values.filter(isId).map(Number))],
    strange: values.filter((value) => !isId(value)),
  }
}

/**
 * The editor of many changes. Its definitions are those at the beginning, less the flags that are deleted since: compiling
 * them after each of 1,100 deletions among 5,000 flags held the thread for two minutes.
 */
function bulkEditor(app: AppContext, project: Project, caller: Caller): BulkEditor {
  const { definitions, ...editor } = targetingEditor(app, project, caller)
  let present = definitions
  return {
    ...editor,
    get definitions() {
      return present
    },
    forget(id) {
      present = { ...present, flags: present.flags.filter(({ flag }) => flag.id !== id) }
    },
  }
}

type BulkEditor = TargetingEditor & { readonly forget: (flag_id: number) => void }

function deleteOne(
  editor: BulkEditor,
  flag: Flag,
  now: Date,
): BulkFailure | { readonly id: number; readonly key: string; readonly rollout_state: string } {
  const { id, key } = flag
  const { is_fully_rolled_out, max_rollout_percentage, active_variant } = rolloutOf(flag)
  try {
    updateFlag(editor, flag, { deleted: true }, now)
    editor.forget(id)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return { id, key, reason: error.detail }
  }
  const is_none = !flag.active || max_rollout_percentage === 0 || max_rollout_percentage === null
  const partly = is_fully_rolled_out ? 'fully_rolled_out' : 'partial'
  const answer = { id, key, rollout_state: is_none ? 'not_rolled_out' : partly, active_variant }
  return answer
}
