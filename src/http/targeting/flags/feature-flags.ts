/** Feature flags of a project: list, create, read, change. Deleting is a change. */
import type { Static } from 'elysia'
import { FlagsQuery } from '../../../contract/targeting/flag-lists.ts'
import { FlagAnswer, FlagChange, FlagPage, NewFlag } from '../../../contract/targeting/flags.ts'
import { getDashboard } from '../../../dashboards/dashboard.ts'
import { getNamed, unknownId } from '../../../errors.ts'
import { hasConditions } from '../../../flags/plan.ts'
import {
  createFlag,
  type Flag,
  type FlagChanges,
  getFlag,
  updateFlag,
} from '../../../targeting/flags/flag.ts'
import { queryOf } from '../../addresses.ts'
import { answerJson } from '../../answers/answers.ts'
import type { AppContext } from '../../app-context.ts'
import { sentMembers } from '../../bodies/sent-members.ts'
import { validatorOf } from '../../bodies/shape.ts'
import { targetingEditor } from '../../callers/editors.ts'
import { parseNumberId } from '../../path-ids.ts'
import { resource } from '../../resource.ts'
import { type OfProject, projectRoute, type RouteCall } from '../../route.ts'
import { findFlags, sortFlags } from './flag-filters.ts'
import { flagSerializer } from './flag-serializer.ts'

const NEW_FLAG = validatorOf(NewFlag)
const FLAG_CHANGE = validatorOf(FlagChange)

/** A PUT names the key, as a new flag does. */
const REPLACE_ROUTE = projectRoute({
  method: 'PUT',
  path: 'feature_flags/:id/',
  scope: 'feature_flag:write',
  summary: 'Change a feature flag, naming its key.',
  answers: { 200: FlagAnswer },
  body: NEW_FLAG,
  answer: async (app, call) => {
    const before = getFlag(app.control, call.project.id, parseNumberId(call.params))
    const flag = changeFlag(app, call, before)
    return answerJson((await flagSerializer(app, call))(flag))
  },
})

export const FEATURE_FLAG_ROUTES = resource({
  path: 'feature_flags/',
  resource: 'feature_flag',
  answer: FlagAnswer,
  find: (app, project, params) => getFlag(app.control, project.id, parseNumberId(params)),
  serializer: flagSerializer,
  list: {
    summary: "List the project's feature flags, newest first.",
    query: FlagsQuery,
    answer: FlagPage,
    items: async (app, { request, project }) => {
      const provided_fields = new Map(new URLSearchParams(queryOf(request.url)))
      const result = await findFlags(app, { project, request }, provided_fields)
      return sortFlags(result, provided_fields.get('order') ?? null)
    },
  },
  create: {
    summary: 'Create a feature flag.',
    body: NEW_FLAG,
    run: (app, { body, project, caller }) => {
      requireDashboards(app, project.id, body.analytics_dashboards)
      const wanted = { ...readFlagChanges(body), key: body.key }
      return createFlag(targetingEditor(app, project, caller), wanted, app.now())
    },
  },
  read: {
    summary: 'Read a feature flag, and whether clients can evaluate it locally.',
  },
  change: {
    summary: 'Change fields of a feature flag; `deleted: true` deletes it.',
    body: FLAG_CHANGE,
    run: changeFlag,
  },
  more: [REPLACE_ROUTE],
  activity: { summary: 'List the activity log of a flag.', scope: 'FeatureFlag' },
})

function changeFlag(
  app: AppContext,
  { body, project, caller }: RouteCall<OfProject, typeof FlagChange>,
  before: Flag,
): Flag {
  const { filters, ...others } = readFlagChanges(body)
  // Other filters leave those of the flag as they are, as on PostHog: a change of payloads alone would switch it on for all.
  const changes = hasConditions(filters) ? { ...others, filters } : others
  requireDashboards(app, project.id, changes.analytics_dashboards)
  return updateFlag(targetingEditor(app, project, caller), before, changes, app.now())
}

/** Refuses dashboards of other projects. */
function requireDashboards(app: AppContext, project_id: number, ids: unknown): void {
  for (const id of Array.isArray(ids) ? ids : []) {
    const get = () => getDashboard(app.control, project_id, Number(id))
    getNamed(get, 'analytics_dashboards', unknownId(id))
  }
}

/** Reads the stored members from a body; for most members null means the default of a new flag. */
function readFlagChanges(body: Static<typeof FlagChange>): FlagChanges {
  const contexts = body.evaluation_contexts ?? body.evaluation_tags
  const wanted = {
    key: body.key,
    name: body.name,
    filters: body.filters,
    active: body.active,
    deleted: body.deleted,
    archived: body.archived,
    ensure_experience_continuity: orFalse(body.ensure_experience_continuity),
    rollout_percentage: body.rollout_percentage,
    evaluation_runtime: body.evaluation_runtime,
    bucketing_identifier: body.bucketing_identifier,
    evaluation_contexts: contexts ?? undefined,
    is_remote_configuration: orFalse(body.is_remote_configuration),
    has_enriched_analytics: orFalse(body.has_enriched_analytics),
    rollback_conditions: body.rollback_conditions,
    performed_rollback: body.performed_rollback,
    analytics_dashboards: body.analytics_dashboards ?? undefined,
    tags: body.tags ?? undefined,
    creation_context: body.creation_context ?? undefined,
  }
  return sentMembers(wanted) as FlagChanges
}

function orFalse(value: boolean | null | undefined): boolean | undefined {
  return value === null ? false : value
}
