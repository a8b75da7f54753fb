/** Read actions on flags: evaluate for a person, reasons, status, blast radius. */

import { FlagCohortAnswer } from '../../../contract/targeting/cohorts.ts'
import {
  BlastAnswer,
  BlastRadiusBody,
  DependentFlags,
  FlagStatusAnswer,
  MyFlags,
  MyFlagsQuery,
  ReasonsAnswer,
  ReasonsQuery,
} from '../../../contract/targeting/flags.ts'
import { Refusal } from '../../../errors.ts'
import type { Evaluation } from '../../../flags/result.ts'
import { type FlagResult, valueOf } from '../../../flags/result.ts'
import { findUser } from '../../../projects/users/user.ts'
import { answerFlags } from '../../../targeting/flags/answer-flags.ts'
import { blastRadius } from '../../../targeting/flags/blast-radius.ts'
import {
  getFlag,
  listDependants,
  listInactiveKeys,
  readFlags,
} from '../../../targeting/flags/flag.ts'
import { createFlagCohort } from '../../../targeting/flags/flag-cohort.ts'
import { readLinks } from '../../../targeting/flags/flag-links.ts'
import { rolloutOf, statusOf } from '../../../targeting/flags/flag-status.ts'
import { writeArray } from '../../../threads/sliced-json.ts'
import { queryOf } from '../../addresses.ts'
import { answerBytes, answerJson, JSON_HEADERS } from '../../answers/answers.ts'
import type { AppContext } from '../../app-context.ts'
import { validatorOf } from '../../bodies/shape.ts'
import { targetingEditor } from '../../callers/editors.ts'
import { parseNumberId } from '../../path-ids.ts'
import { projectRoute } from '../../route.ts'
import { cohortSerializer } from '../cohorts/cohort-serializer.ts'
import { flagSerializer } from './flag-serializer.ts'
import { readUsage } from './flag-usage.ts'

const BLAST_RADIUS_BODY = validatorOf(BlastRadiusBody)

export const FLAG_ACTION_ROUTES = [
  projectRoute({
    method: 'GET',
    path: 'feature_flags/my_flags/',
    scope: 'feature_flag:read',
    summary: 'Evaluate the flags for the user behind the key.',
    query: MyFlagsQuery,
    answers: { 200: MyFlags },
    answer: async (app, { request, project, caller }) => {
      const distinct_id = findUser(app.control, caller.user_id)?.distinct_id ?? ''
      const { results } = await evaluateFor(app, project.id, {
        distinct_id,
        groups: readGroups(request),
        flag_keys: null,
      })
      const values = new Map(results.map((result) => [result.flag.key, valueOf(result)]))
      const serialize = await flagSerializer(app, { caller, project })
      const linksOf = await readLinks(app.control, project.id)
      const read_keys = readFlagKeys(request)
      const keys = read_keys && new Set(read_keys)
      const all = await readFlags(app.control, project.id)
      const flags = all.filter(
        ({ id, key }) => !linksOf(id).is_of_survey && keys?.has(key) !== false,
      )
      const mine = await writeArray(flags, (flag) => [
        JSON.stringify({ feature_flag: serialize(flag), value: values.get(flag.key) ?? false }),
      ])
      return answerBytes(mine, JSON_HEADERS)
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'feature_flags/evaluation_reasons/',
    scope: 'feature_flag:read',
    summary: 'Evaluate the flags for a distinct id, with reasons.',
    query: ReasonsQuery,
    answers: { 200: ReasonsAnswer },
    answer: async (app, { request, project }) => {
      const distinct_id = new URLSearchParams(queryOf(request.url)).get('distinct_id')
      if (distinct_id === null || distinct_id === '') {
        throw new Refusal('required', 'User distinct_id is required', { attr: 'distinct_id' })
      }
      const flag_keys = readFlagKeys(request)
      const groups = readGroups(request)
      const { results } = await evaluateFor(app, project.id, { distinct_id, groups, flag_keys })
      const named = flag_keys && new Set(flag_keys)
      const disabled = listInactiveKeys(app.control, project.id).filter(
        (key) => named?.has(key) !== false,
      )
      return answerJson(
        Object.fromEntries([
          ...results.map((result) => [result.flag.key, serializeResult(result)] as const),
          ...disabled.map((key) => [key, DISABLED] as const),
        ]),
      )
    },
  }),
  projectRoute({
    method: 'POST',
    path: 'feature_flags/user_blast_radius/',
    scope: 'feature_flag:read',
    summary: 'Count the persons or groups that match a condition.',
    answers: { 200: BlastAnswer },
    body: BLAST_RADIUS_BODY,
    answer: async (app, { body, project }) => {
      const flags = await app.flags.readyFlagsWithAllGroupTypes(project.id)
      const properties = body.condition.properties ?? []
      const index = body.group_type_index ?? null
      const reached = await blastRadius(app.persons, flags, properties, index)
      const { users_affected: affected, total_users: total } = reached
      return answerJson({ ...reached, affected, total })
    },
  }),
  projectRoute({
    method: 'POST',
    path: 'feature_flags/:id/create_static_cohort_for_flag/',
    scope: 'cohort:write',
    summary: 'Create a static cohort of the persons for whom a flag is on now.',
    answers: { 201: FlagCohortAnswer },
    answer: async (app, { params, project, caller }) => {
      const flag = getFlag(app.control, project.id, parseNumberId(params))
      const cohort = await createFlagCohort(
        {
          control: app.control,
          persons: app.persons,
          rows: app.flag_rows,
          editor: targetingEditor(app, project, caller),
          flags: app.flags.flagsOf(project.id),
          now: app.now(),
        },
        flag,
      )
      return answerJson({ cohort: cohortSerializer(app, { caller, project })(cohort) }, 201)
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'feature_flags/:id/status/',
    scope: 'feature_flag:read',
    summary: 'Read whether a flag is active or stale.',
    answers: { 200: FlagStatusAnswer },
    answer: async (app, { request, params, project }) => {
      const flag = getFlag(app.control, project.id, parseNumberId(params))
      const lastUse = await readUsage(app, { project, request })
      const { status, reason } = statusOf(flag, lastUse(flag.key), app.now())
      const { active_variant: _variant, ...rollout } = rolloutOf(flag)
      const reason_states_rollout = status === 'STALE' && rollout.is_fully_rolled_out
      return answerJson({ status: status.toLowerCase(), reason, reason_states_rollout, rollout })
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'feature_flags/:id/dependent_flags/',
    scope: 'feature_flag:read',
    summary: 'List the active flags that depend on a flag.',
    answers: { 200: DependentFlags },
    answer: (app, { params, project, caller }) => {
      const flag = getFlag(app.control, project.id, parseNumberId(params))
      const dependants = listDependants(targetingEditor(app, project, caller).definitions, flag)
      return answerJson(dependants.map(({ id, key, name }) => ({ id, key, name: name || key })))
    },
  }),
] as const

const DISABLED = { value: false, evaluation: { reason: 'disabled', condition_index: null } }

function serializeResult(result: FlagResult): object {
  const { code, condition_index, description } = result.reason
  return { value: valueOf(result), evaluation: { reason: code, condition_index, description } }
}

/** The person or groups to evaluate for. `flag_keys` of null means all flags. */
type EvaluationBody = {
  readonly distinct_id: string
  readonly groups: unknown
  readonly flag_keys: readonly string[] | null
}

/** Reads the flags of a request; null for all. */
function readFlagKeys(request: Request): readonly string[] | null {
  const named = new URLSearchParams(queryOf(request.url)).getAll('flag_keys')
  const keys = named.flatMap((text) => text.split(',')).filter((key) => key !== '')
  return keys.length === 0 ? null : keys
}

async function evaluateFor(
  app: AppContext,
  project_id: number,
  { distinct_id, groups, flag_keys }: EvaluationBody,
): Promise<Evaluation> {
  const flags = await app.flags.readyFlagsWithAllGroupTypes(project_id)
  const query = {
    distinct_id,
    device_id: null,
    anon_distinct_id: null,
    groups,
    person_properties: {},
    group_properties: {},
    selection: { flag_keys, evaluation_runtime: null, evaluation_contexts: null },
  }
  return answerFlags(app.persons, flags, query, app.now()).evaluation
}

/** Reads `groups`, an object as JSON. */
function readGroups(request: Request): unknown {
  const text = new URLSearchParams(queryOf(request.url)).get('groups') ?? '{}'
  try {
    return JSON.parse(text)
  } catch {
    throw new Refusal('invalid_input', 'Invalid JSON for groups', { attr: 'groups' })
  }
}
