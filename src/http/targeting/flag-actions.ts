/** What can be asked of feature flags beside themselves: values for somebody, reasons, status, history, reach (wire §3.8). */
import { FlagCohortAnswer } from '../../contract/cohorts.ts'
import {
  BlastAnswer,
  BlastQuestion,
  DependentFlags,
  FlagStatusAnswer,
  MyFlags,
  MyFlagsQuery,
  ReasonsAnswer,
  ReasonsQuery,
} from '../../contract/flags.ts'
import { ActivityQuery, ItemActivityAnswer } from '../../contract/project.ts'
import { Refusal } from '../../errors.ts'
import type { Evaluation } from '../../flags/evaluate.ts'
import { type FlagResult, valueOf } from '../../flags/result.ts'
import { findUser } from '../../projects/user.ts'
import { answerFlags } from '../../targeting/answer.ts'
import { blastRadius } from '../../targeting/blast-radius.ts'
import { getFlag, listDependants, listFlags } from '../../targeting/flag.ts'
import { createFlagCohort } from '../../targeting/flag-cohort.ts'
import { statusOf } from '../../targeting/staleness.ts'
import { queryOf } from '../addresses.ts'
import { answerJson } from '../answers.ts'
import { numberIn } from '../ids.ts'
import { projectActivity } from '../management/activity.ts'
import type { Needs } from '../needs.ts'
import { readUsage } from '../public/flag-usage.ts'
import { flagShower } from '../public/flag-wire.ts'
import { projectRoute } from '../route.ts'
import { shapeOf } from '../shape.ts'
import { authorNamer } from './authors.ts'
import { cohortOnWire } from './cohorts.ts'
import { editorOf } from './feature-flags.ts'

const BLAST_QUESTION = shapeOf(BlastQuestion)

export const FLAG_ACTION_ROUTES = [
  projectRoute({
    method: 'GET',
    path: 'feature_flags/my_flags/',
    scope: 'feature_flag:read',
    says: 'Read what each flag is for the user behind the key.',
    query: MyFlagsQuery,
    answers: { 200: MyFlags },
    answer: (needs, { request, project, asker }) => {
      const distinct_id = findUser(needs.control, asker.user_id)?.distinct_id ?? ''
      const { results } = evaluateFor(needs, project.id, distinct_id, groupsIn(request))
      const values = new Map(results.map((result) => [result.flag.key, valueOf(result)]))
      const show = flagShower(needs, project.id)
      const flags = listFlags(needs.control, project.id)
      const mine = flags.map((flag) => ({
        feature_flag: show(flag),
        value: values.get(flag.key) ?? false,
      }))
      return answerJson(mine)
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'feature_flags/evaluation_reasons/',
    scope: 'feature_flag:read',
    says: 'Read what each flag is for a distinct id, and why.',
    query: ReasonsQuery,
    answers: { 200: ReasonsAnswer },
    answer: (needs, { request, project }) => {
      const distinct_id = new URLSearchParams(queryOf(request.url)).get('distinct_id')
      if (distinct_id === null || distinct_id === '') {
        throw new Refusal('required', 'User distinct_id is required', { attr: 'distinct_id' })
      }
      const { results } = evaluateFor(needs, project.id, distinct_id, groupsIn(request))
      const disabled = listFlags(needs.control, project.id).filter((flag) => !flag.active)
      return answerJson(
        Object.fromEntries([
          ...results.map((result) => [result.flag.key, reasoned(result)] as const),
          ...disabled.map((flag) => [flag.key, DISABLED] as const),
        ]),
      )
    },
  }),
  projectRoute({
    method: 'POST',
    path: 'feature_flags/user_blast_radius/',
    scope: 'feature_flag:read',
    says: 'Count the people or groups that a condition reaches.',
    answers: { 200: BlastAnswer },
    body: BLAST_QUESTION,
    answer: async (needs, { body, project }) => {
      const flags = needs.flags.flagsWithAllGroupTypes(project.id)
      const properties = body.condition.properties ?? []
      const index = body.group_type_index ?? null
      return answerJson(await blastRadius(needs.people, flags, properties, index))
    },
  }),
  projectRoute({
    method: 'POST',
    path: 'feature_flags/:id/create_static_cohort_for_flag/',
    scope: 'cohort:write',
    says: 'Make a list of everybody who gets a flag now.',
    answers: { 201: FlagCohortAnswer },
    answer: async (needs, { params, project, asker }) => {
      const flag = getFlag(needs.control, project.id, numberIn(params))
      const cohort = await createFlagCohort(
        {
          control: needs.control,
          people: needs.people,
          rows: needs.flag_rows,
          editor: editorOf(needs, project, asker),
          flags: needs.flags.flagsOf(project.id),
          now: needs.now(),
        },
        flag,
      )
      return answerJson({ cohort: cohortOnWire(cohort, authorNamer(needs)) }, 201)
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'feature_flags/:id/status/',
    scope: 'feature_flag:read',
    says: 'Read whether a flag still does something.',
    answers: { 200: FlagStatusAnswer },
    answer: async (needs, { request, params, project }) => {
      const flag = getFlag(needs.control, project.id, numberIn(params))
      const lastUse = await readUsage(needs, { project, request })
      const { status, reason } = statusOf(flag, lastUse(flag.key), needs.now())
      return answerJson({ status: status.toLowerCase(), reason })
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'feature_flags/:id/dependent_flags/',
    scope: 'feature_flag:read',
    says: 'List the active flags that ask for the value of a flag.',
    answers: { 200: DependentFlags },
    answer: (needs, { params, project, asker }) => {
      const flag = getFlag(needs.control, project.id, numberIn(params))
      const dependants = listDependants(editorOf(needs, project, asker).definitions, flag)
      return answerJson(dependants.map(({ id, key, name }) => ({ id, key, name })))
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'feature_flags/:id/activity/',
    scope: 'activity_log:read',
    says: 'List what happened to a flag.',
    query: ActivityQuery,
    answers: { 200: ItemActivityAnswer },
    answer: (needs, call) => {
      const { params, project } = call
      const item_id = String(getFlag(needs.control, project.id, numberIn(params)).id)
      return answerJson(projectActivity(needs, call, { scope: 'FeatureFlag', item_id }))
    },
  }),
] as const

const DISABLED = { value: false, evaluation: { reason: 'disabled', condition_index: null } }

function reasoned(result: FlagResult): object {
  const { code, condition_index } = result.reason
  return { value: valueOf(result), evaluation: { reason: code, condition_index } }
}

function evaluateFor(
  needs: Needs,
  project_id: number,
  distinct_id: string,
  groups: unknown,
): Evaluation {
  const flags = needs.flags.flagsWithAllGroupTypes(project_id)
  const question = {
    distinct_id,
    device_id: null,
    anon_distinct_id: null,
    groups,
    person_properties: {},
    group_properties: {},
    location: null,
    nearby: null,
    selection: { flag_keys: null, evaluation_runtime: null, evaluation_contexts: null },
  }
  return answerFlags(needs.people, flags, question, needs.now()).evaluation
}

/** The `groups` parameter: an object as JSON. */
function groupsIn(request: Request): unknown {
  const text = new URLSearchParams(queryOf(request.url)).get('groups') ?? '{}'
  try {
    return JSON.parse(text)
  } catch {
    throw new Refusal('invalid_input', 'Invalid JSON for groups', { attr: 'groups' })
  }
}
