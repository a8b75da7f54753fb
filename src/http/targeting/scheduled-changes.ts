/** Changes of flags at a time of their own, under a project (wire §3.8). */
import type { Static } from 'elysia'
import {
  NewScheduledChange,
  ScheduledChangeAnswer,
  ScheduledChangeChange,
  ScheduledChangePage,
  ScheduledChangesQuery,
} from '../../contract/scheduled-changes.ts'
import { Refusal } from '../../errors.ts'
import { type Flag, getFlag } from '../../targeting/flag.ts'
import {
  changePlan,
  dropPlan,
  getPlan,
  listPlans,
  planChange,
  type ScheduledChange,
  type WantedSchedule,
} from '../../targeting/scheduled-change.ts'
import { answerJson } from '../answers.ts'
import { numberIn } from '../ids.ts'
import { momentIn } from '../moments.ts'
import type { Needs } from '../needs.ts'
import { answerPage, queryValue } from '../pages.ts'
import { projectRoute } from '../route.ts'
import { shapeOf } from '../shape.ts'
import { authorNamer, type NameAuthor } from './authors.ts'
import { editorOf } from './feature-flags.ts'

const NEW = shapeOf(NewScheduledChange)
const CHANGE = shapeOf(ScheduledChangeChange)

const MODEL = 'FeatureFlag'

export const SCHEDULED_CHANGE_ROUTES = [
  projectRoute({
    method: 'GET',
    path: 'scheduled_changes/',
    scope: 'feature_flag:read',
    says: 'List the planned changes of flags, those that have happened too, the latest made first.',
    query: ScheduledChangesQuery,
    answers: { 200: ScheduledChangePage },
    answer: (needs, { request, project }) => {
      const record_id = queryValue(request, 'record_id')
      const model = queryValue(request, 'model_name') ?? MODEL
      const flag_id = record_id === null || record_id === '' ? null : numberOf(record_id)
      const plans = model === MODEL ? listPlans(needs.control, project.id, flag_id) : []
      const nameAuthor = authorNamer(needs)
      return answerPage(request, needs.publicUrl(), plans, (one) => onWire(one, nameAuthor))
    },
  }),
  projectRoute({
    method: 'POST',
    path: 'scheduled_changes/',
    scope: 'feature_flag:write',
    says: 'Plan a change of a flag: switch it, add a condition set, or replace its variants.',
    body: NEW,
    answers: { 201: ScheduledChangeAnswer },
    answer: (needs, { body, project, asker }) => {
      const flag = getNamed(needs, project.id, body.record_id)
      const editor = { ...editorOf(needs, project, asker), timezone: project.timezone }
      const { payload } = body
      const scheduled_at = momentIn(body.scheduled_at, 'scheduled_at') ?? needs.now()
      const wanted = { ...timesIn(body), payload, scheduled_at }
      const plan = planChange(editor, flag, wanted, needs.now())
      return answerJson(onWire(plan, authorNamer(needs)), 201)
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'scheduled_changes/:id/',
    scope: 'feature_flag:read',
    says: 'Read a planned change of a flag.',
    answers: { 200: ScheduledChangeAnswer },
    answer: (needs, { params, project }) => {
      const plan = getPlan(needs.control, project.id, numberIn(params))
      return answerJson(onWire(plan, authorNamer(needs)))
    },
  }),
  projectRoute({
    method: 'PATCH',
    path: 'scheduled_changes/:id/',
    scope: 'feature_flag:write',
    says: 'Change a planned change that has not happened; without `is_recurring` one that comes back is held.',
    body: CHANGE,
    answers: { 200: ScheduledChangeAnswer },
    answer: (needs, { body, params, project, asker }) => {
      const before = getPlan(needs.control, project.id, numberIn(params))
      if (body.record_id !== undefined && String(body.record_id) !== String(before.flag_id)) {
        const detail = 'Cannot change the target record of an existing scheduled change.'
        throw new Refusal('invalid_input', detail, { attr: 'record_id' })
      }
      const wanted = { ...timesIn(body), ...(body.payload ? { payload: body.payload } : {}) }
      const plan = changePlan(editorOf(needs, project, asker), before, wanted, needs.now())
      return answerJson(onWire(plan, authorNamer(needs)))
    },
  }),
  projectRoute({
    method: 'DELETE',
    path: 'scheduled_changes/:id/',
    scope: 'feature_flag:write',
    says: 'Call a planned change off.',
    answers: { 204: null },
    answer: (needs, { params, project }) => {
      dropPlan(needs, getPlan(needs.control, project.id, numberIn(params)))
      return new Response(null, { status: 204 })
    },
  }),
] as const

function onWire(plan: ScheduledChange, nameAuthor: NameAuthor): object {
  const { project_id, flag_id, failures: _failures, ...stored } = plan
  return {
    ...stored,
    team_id: project_id,
    record_id: String(flag_id),
    model_name: MODEL,
    created_by: nameAuthor(plan.created_by),
  }
}

/** Of a body what is said of times. */
function timesIn(body: Static<typeof ScheduledChangeChange>): WantedSchedule {
  const wanted = {
    scheduled_at: momentIn(body.scheduled_at, 'scheduled_at'),
    is_recurring: body.is_recurring,
    recurrence_interval: body.recurrence_interval,
    cron_expression: body.cron_expression === '' ? null : body.cron_expression,
    end_date: momentIn(body.end_date, 'end_date'),
  }
  // What is undefined was not said.
  const said = Object.entries(wanted).filter(([, value]) => value !== undefined)
  return Object.fromEntries(said)
}

function getNamed(needs: Needs, project_id: number, record_id: number | string): Flag {
  try {
    return getFlag(needs.control, project_id, numberOf(String(record_id)))
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    throw new Refusal('does_not_exist', 'Feature flag not found', { attr: 'record_id' })
  }
}

/** What is no id is nobody's. */
function numberOf(text: string): number {
  return /^\d{1,15}$/.test(text.trim()) ? Number(text) : 0
}
