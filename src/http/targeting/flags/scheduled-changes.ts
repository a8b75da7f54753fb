/** Scheduled changes of a project's flags. */
import type { Static } from 'elysia'
import {
  NewScheduledChange,
  ScheduledChangeAnswer,
  ScheduledChangeChange,
  ScheduledChangePage,
  ScheduledChangesQuery,
} from '../../../contract/targeting/scheduled-changes.ts'
import { getNamed, Refusal } from '../../../errors.ts'
import { type Flag, getFlag } from '../../../targeting/flags/flag.ts'
import {
  deleteSchedule,
  getScheduledChange,
  readScheduledChanges,
  type ScheduleChanges,
  type ScheduledChange,
  scheduleChange,
  updateSchedule,
} from '../../../targeting/flags/scheduled-change.ts'
import { answerJson } from '../../answers/answers.ts'
import { answerPage, queryValue } from '../../answers/pages.ts'
import type { AppContext } from '../../app-context.ts'
import { sentMembers } from '../../bodies/sent-members.ts'
import { validatorOf } from '../../bodies/shape.ts'
import { parseTimestamp } from '../../bodies/timestamps.ts'
import { authorFinder, type FindAuthor } from '../../callers/authors.ts'
import { targetingEditor } from '../../callers/editors.ts'
import { parseNumberId } from '../../path-ids.ts'
import { projectRoute } from '../../route.ts'

const NEW = validatorOf(NewScheduledChange)
const CHANGE = validatorOf(ScheduledChangeChange)

const MODEL = 'FeatureFlag'

export const SCHEDULED_CHANGE_ROUTES = [
  projectRoute({
    method: 'GET',
    path: 'scheduled_changes/',
    scope: 'feature_flag:read',
    summary: 'List scheduled changes of flags, executed ones included, newest first.',
    query: ScheduledChangesQuery,
    answers: { 200: ScheduledChangePage },
    answer: async (app, { request, project }) => {
      const record_id = queryValue(request, 'record_id')
      const model = queryValue(request, 'model_name') ?? MODEL
      const flag_id = record_id === null || record_id === '' ? null : numberOf(record_id)
      const plans =
        model === MODEL ? await readScheduledChanges(app.control, project.id, flag_id) : []
      const nameAuthor = authorFinder(app)
      return answerPage(request, app.publicUrl(), plans, (one) => onWire(one, nameAuthor))
    },
  }),
  projectRoute({
    method: 'POST',
    path: 'scheduled_changes/',
    scope: 'feature_flag:write',
    summary:
      'Schedule a change of a flag: switch it, add a condition set, or replace its variants.',
    body: NEW,
    answers: { 201: ScheduledChangeAnswer },
    answer: (app, { body, project, caller }) => {
      const flag = getNamedFlag(app, project.id, body.record_id)
      const editor = { ...targetingEditor(app, project, caller), timezone: project.timezone }
      const { payload } = body
      const scheduled_at = parseTimestamp(body.scheduled_at, 'scheduled_at') ?? app.now()
      const wanted = { ...readTimes(body), payload, scheduled_at }
      const plan = scheduleChange(editor, flag, wanted, app.now())
      return answerJson(onWire(plan, authorFinder(app)), 201)
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'scheduled_changes/:id/',
    scope: 'feature_flag:read',
    summary: 'Read a scheduled change of a flag.',
    answers: { 200: ScheduledChangeAnswer },
    answer: (app, { params, project }) => {
      const plan = getScheduledChange(app.control, project.id, parseNumberId(params))
      return answerJson(onWire(plan, authorFinder(app)))
    },
  }),
  projectRoute({
    method: 'PATCH',
    path: 'scheduled_changes/:id/',
    scope: 'feature_flag:write',
    summary:
      'Change a scheduled change that was not executed yet; one that recurs is paused without `is_recurring`.',
    body: CHANGE,
    answers: { 200: ScheduledChangeAnswer },
    answer: (app, { body, params, project, caller }) => {
      const before = getScheduledChange(app.control, project.id, parseNumberId(params))
      if (body.record_id !== undefined && String(body.record_id) !== String(before.flag_id)) {
        const detail = 'Cannot change the target record of an existing scheduled change.'
        throw new Refusal('invalid_input', detail, { attr: 'record_id' })
      }
      const wanted = { ...readTimes(body), ...(body.payload ? { payload: body.payload } : {}) }
      const plan = updateSchedule(targetingEditor(app, project, caller), before, wanted, app.now())
      return answerJson(onWire(plan, authorFinder(app)))
    },
  }),
  projectRoute({
    method: 'DELETE',
    path: 'scheduled_changes/:id/',
    scope: 'feature_flag:write',
    summary: 'Cancel a scheduled change.',
    answers: { 204: null },
    answer: (app, { params, project }) => {
      deleteSchedule(app, getScheduledChange(app.control, project.id, parseNumberId(params)))
      return new Response(null, { status: 204 })
    },
  }),
] as const

function onWire(plan: ScheduledChange, nameAuthor: FindAuthor): object {
  const { project_id, flag_id, failures: _failures, ...stored } = plan
  return {
    ...stored,
    team_id: project_id,
    record_id: String(flag_id),
    model_name: MODEL,
    created_by: nameAuthor(plan.created_by),
  }
}

/** Reads the times from a body. */
function readTimes(body: Static<typeof ScheduledChangeChange>): ScheduleChanges {
  const wanted = {
    scheduled_at: parseTimestamp(body.scheduled_at, 'scheduled_at'),
    is_recurring: body.is_recurring,
    recurrence_interval: body.recurrence_interval,
    cron_expression: body.cron_expression === '' ? null : body.cron_expression,
    end_date: parseTimestamp(body.end_date, 'end_date'),
  }
  return sentMembers(wanted) as ScheduleChanges
}

function getNamedFlag(app: AppContext, project_id: number, record_id: number | string): Flag {
  const get = () => getFlag(app.control, project_id, numberOf(String(record_id)))
  return getNamed(get, 'record_id', 'Feature flag not found')
}

/** Parses an id; anything else becomes an id that no object has. */
function numberOf(text: string): number {
  return /^\d{1,15}$/.test(text.trim()) ? Number(text) : 0
}
