/** Single changes of a flag that send no body: enable, disable, archive, and test evaluation. */

import {
  ActiveDependents,
  FlagTrialAnswer,
  FlagTrialBody,
  FlagVersionAnswer,
} from '../../../contract/targeting/flag-actions.ts'
import { FlagAnswer } from '../../../contract/targeting/flags.ts'
import { Refusal } from '../../../errors.ts'
import { valueOf } from '../../../flags/result.ts'
import { isShown, type Rights, rightsAt } from '../../../projects/rights/rights.ts'
import { findFlagPerson } from '../../../targeting/flags/answer-flags.ts'
import {
  type EvaluatedProperty,
  explainFlag,
  type FlagExplanation,
} from '../../../targeting/flags/explain-flag.ts'
import {
  type Flag,
  type FlagChanges,
  getFlag,
  getPresentFlag,
  listDependants,
  updateFlag,
} from '../../../targeting/flags/flag.ts'
import { flagAt } from '../../../targeting/flags/flag-history.ts'
import { isUuid, uuidBytes } from '../../../uuid.ts'
import { answerJson } from '../../answers/answers.ts'
import type { AppContext } from '../../app-context.ts'
import { validatorOf } from '../../bodies/shape.ts'
import { targetingEditor } from '../../callers/editors.ts'
import { parseNumberId } from '../../path-ids.ts'
import { pathNames, projectRoute } from '../../route.ts'
import { flagSerializer } from './flag-serializer.ts'

const EVALUATION_BODY = validatorOf(FlagTrialBody)

/** TRANSITIONS: the last segment of the path, the change, and the summary. A line adds a route. */
const TRANSITIONS: readonly (readonly [segment: string, changes: FlagChanges, summary: string])[] =
  [
    ['enable', { active: true }, 'Switch a flag on.'],
    ['disable', { active: false }, 'Switch a flag off.'],
    ['archive', { archived: true }, 'Archive a flag: switch it off and hide it from lists.'],
    ['unarchive', { archived: false }, 'Unarchive a flag; it stays off.'],
  ]

const TRANSITION_ROUTES = TRANSITIONS.map(([segment, changes, summary]) =>
  projectRoute({
    method: 'POST',
    path: `feature_flags/:id/${segment}/`,
    scope: 'feature_flag:write',
    summary: summary,
    answers: { 200: FlagAnswer },
    answer: async (app, { params, project, caller }) => {
      const before = getPresentFlag(app.control, project.id, parseNumberId(params))
      const is_so = Object.entries(changes).every(
        ([name, value]) => Reflect.get(before, name) === value,
      )
      const editor = targetingEditor(app, project, caller)
      const flag = is_so ? before : updateFlag(editor, before, changes, app.now())
      return answerJson((await flagSerializer(app, { caller, project }))(flag))
    },
  }),
)

export const FLAG_LIFECYCLE_ROUTES = [
  ...TRANSITION_ROUTES,
  projectRoute({
    method: 'POST',
    path: 'feature_flags/:id/has_active_dependents/',
    scope: 'feature_flag:read',
    summary: 'Read whether active flags depend on a flag.',
    answers: { 200: ActiveDependents },
    answer: (app, { params, project, caller }) => {
      const flag = getFlag(app.control, project.id, parseNumberId(params))
      const dependants = listDependants(targetingEditor(app, project, caller).definitions, flag)
      const dependent_flags = dependants.map(({ id, key, name }) => ({
        id,
        key,
        name: name || key,
      }))
      const count = dependants.length
      const warning = `This feature flag is used by ${count} other active flag(s). Disabling it will cause those flags to evaluate this condition as false.`
      return answerJson({
        has_active_dependents: count > 0,
        dependent_flags,
        ...(count === 0 ? {} : { warning }),
      })
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'feature_flags/:id/versions/:version/',
    scope: 'feature_flag:read',
    summary: 'Read a flag as it was in one of its versions.',
    answers: { 200: FlagVersionAnswer },
    answer: (app, { params, project }) => {
      const present = getFlag(app.control, project.id, parseNumberId(params))
      const version = pathNames(params, 'version')
      const number = /^\d{1,9}$/.test(version) ? Number(version) : 0
      const { flag, ...about } = flagAt(app.control, present, number)
      return answerJson({ ...versionMembers(flag), ...about })
    },
  }),
  projectRoute({
    method: 'POST',
    path: 'feature_flags/:id/test_evaluation/',
    scope: 'feature_flag:read',
    summary: 'Evaluate a flag for a person, with the result of each condition.',
    body: EVALUATION_BODY,
    answers: { 200: FlagTrialAnswer },
    answer: async (app, { body, params, ...caller }) => {
      const { project } = caller
      const flag = getFlag(app.control, project.id, parseNumberId(params))
      if ((body.timestamp ?? null) !== null) {
        const detail = 'A flag can be tried out as it is now: leave timestamp out.'
        throw new Refusal('invalid_input', detail, { attr: 'timestamp' })
      }
      const flags = await app.flags.readyFlagsWithAllGroupTypes(project.id)
      const requested = {
        ...NOBODY,
        distinct_id: distinctIdOf(app, project.id, body),
        groups: body.groups ?? {},
      }
      const person = findFlagPerson(app.persons, flags, requested, app.now())
      const tried = explainFlag(flags, flag, person)
      const rights = rightsAt(app.control, caller.caller, caller)
      const { result, sets, person_properties } = withoutHidden(tried, rights)
      return answerJson({
        flag_key: flag.key,
        result: result === null ? false : valueOf(result),
        reason: result?.reason.code ?? 'flag_disabled',
        reason_description: result?.reason.description ?? null,
        condition_index: result?.reason.condition_index ?? null,
        payload: result?.payload ?? null,
        person_properties,
        evaluation_distinct_id: body.distinct_id ?? null,
        conditions: sets,
      })
    },
  }),
]

function versionMembers(flag: Flag): object {
  const { id, key, name, filters, active, archived, deleted, version, tags } = flag
  const { evaluation_runtime, bucketing_identifier, created_at, created_by } = flag
  return {
    id,
    key,
    name,
    filters,
    active,
    archived,
    deleted,
    version,
    tags,
    evaluation_runtime,
    bucketing_identifier,
    created_at,
    created_by,
    ensure_experience_continuity: flag.ensure_experience_continuity,
    has_enriched_analytics: flag.has_enriched_analytics,
    is_remote_configuration: flag.is_remote_configuration,
    has_encrypted_payloads: false,
  }
}

/** Removes values from a test evaluation that the caller may not read; whether conditions hold stays. */
function withoutHidden(
  { result, sets, person_properties }: FlagExplanation,
  rights: Rights,
): FlagExplanation {
  const shows_persons = isShown(rights, 'test_evaluation.person')
  const shows_groups = isShown(rights, 'test_evaluation.group')
  const shownProperty = (property: EvaluatedProperty): EvaluatedProperty => {
    const is_shown =
      property.type === 'person' ? shows_persons : property.type !== 'group' || shows_groups
    if (is_shown) return property
    const explanation = property.matched ? 'Holds' : 'Does not hold'
    return { ...property, actual_value: null, explanation }
  }
  return {
    result,
    sets: sets.map((set) => ({ ...set, properties: set.properties.map(shownProperty) })),
    person_properties: shows_persons ? person_properties : {},
  }
}

const NOBODY = {
  device_id: null,
  anon_distinct_id: null,
  person_properties: {},
  group_properties: {},
  selection: { flag_keys: null, evaluation_runtime: null, evaluation_contexts: null },
}

type PersonReference = { readonly distinct_id?: string | null; readonly person_id?: string | null }

/** Returns the distinct id to evaluate. Refuses none, and two at once. */
function distinctIdOf(app: AppContext, project_id: number, named: PersonReference): string {
  const { distinct_id = null, person_id = null } = named
  if (distinct_id !== null && person_id !== null) {
    const detail = 'Cannot provide both distinct_id and person_id'
    throw new Refusal('invalid_input', detail, { attr: 'person_id' })
  }
  if (distinct_id !== null) return distinct_id
  if (person_id === null) {
    const detail = 'Either distinct_id or person_id must be provided'
    throw new Refusal('required', detail, { attr: 'distinct_id' })
  }
  const ids = isUuid(person_id)
    ? app.persons.listDistinctIds(project_id, uuidBytes(person_id), 2)
    : []
  // The smallest one, so that the result does not depend on which is the main one: the others are listed in order.
  const [first] = ids.toSorted()
  if (first !== undefined) return first
  throw new Refusal('not_found', 'Person not found.')
}
