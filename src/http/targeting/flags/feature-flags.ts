/** Feature flags of a project: list, create, read, change. Deleting is a change. */
import type { Static } from 'elysia'
import { FlagsQuery } from '../../../contract/targeting/flag-lists.ts'
import { FlagAnswer, FlagChange, FlagPage, NewFlag } from '../../../contract/targeting/flags.ts'
import { getDashboard } from '../../../dashboards/dashboard.ts'
import { Refusal } from '../../../errors.ts'
import type { Caller } from '../../../projects/access.ts'
import type { Project } from '../../../projects/project.ts'
import { rightsIn } from '../../../projects/rights.ts'
import { createFlag, type FlagChanges, getFlag, updateFlag } from '../../../targeting/flags/flag.ts'
import type { TargetingEditor } from '../../../targeting/shared/editor.ts'
import { queryOf } from '../../addresses.ts'
import { answerJson } from '../../answers.ts'
import type { AppContext } from '../../app-context.ts'
import { answerPage } from '../../pages.ts'
import { parseNumberId } from '../../path-ids.ts'
import { flagSerializer } from '../../public/flag-serializer.ts'
import { projectRoute, type RouteCall } from '../../route.ts'
import { sentMembers } from '../../sent-members.ts'
import { validatorOf } from '../../shape.ts'
import { findFlags, sortFlags } from './flag-filters.ts'

const NEW_FLAG = validatorOf(NewFlag)
const FLAG_CHANGE = validatorOf(FlagChange)

export const FEATURE_FLAG_ROUTES = [
  projectRoute({
    method: 'GET',
    path: 'feature_flags/',
    scope: 'feature_flag:read',
    summary: "List the project's feature flags, newest first.",
    query: FlagsQuery,
    answers: { 200: FlagPage },
    answer: async (app, { request, caller, project }) => {
      const provided_fields = new Map(new URLSearchParams(queryOf(request.url)))
      const result = await findFlags(app, { project, request }, provided_fields)
      const flags = sortFlags(result, provided_fields.get('order') ?? null)
      const serialize = await flagSerializer(app, { caller, project })
      return answerPage(request, app.publicUrl(), flags, serialize)
    },
  }),
  projectRoute({
    method: 'POST',
    path: 'feature_flags/',
    scope: 'feature_flag:write',
    summary: 'Make a feature flag.',
    answers: { 201: FlagAnswer },
    body: NEW_FLAG,
    answer: async (app, { body, project, caller }) => {
      requireDashboards(app, project.id, body.analytics_dashboards)
      const wanted = { ...readFlagChanges(body), key: body.key }
      const flag = createFlag(editorOf(app, project, caller), wanted, app.now())
      return answerJson((await flagSerializer(app, { caller, project }))(flag), 201)
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'feature_flags/:id/',
    scope: 'feature_flag:read',
    summary: 'Read a feature flag, with the verdict whether clients can evaluate it by themselves.',
    answers: { 200: FlagAnswer },
    answer: async (app, { params, caller, project }) => {
      const flag = getFlag(app.control, project.id, parseNumberId(params))
      return answerJson((await flagSerializer(app, { caller, project }))(flag))
    },
  }),
  projectRoute({
    method: 'PATCH',
    path: 'feature_flags/:id/',
    scope: 'feature_flag:write',
    summary: 'Change members of a feature flag; deleting is a change of `deleted`.',
    answers: { 200: FlagAnswer },
    body: FLAG_CHANGE,
    answer: (app, call) => changeFlag(app, call, readFlagChanges(call.body)),
  }),
  projectRoute({
    method: 'PUT',
    path: 'feature_flags/:id/',
    scope: 'feature_flag:write',
    summary: 'Change a feature flag, naming its key.',
    answers: { 200: FlagAnswer },
    body: NEW_FLAG,
    answer: (app, call) => changeFlag(app, call, readFlagChanges(call.body)),
  }),
] as const

/** The editor of a change. Rights are read outside of the change's transaction. */
export function editorOf(app: AppContext, project: Project, caller: Caller): TargetingEditor {
  return {
    control: app.control,
    project,
    user_id: caller.user_id,
    rights: rightsIn(app.control, caller, project),
    saved_max: app.saved_max,
    saved_bytes_max: app.saved_bytes_max,
    get definitions() {
      return app.flags.flagsOf(project.id).definitions
    },
    expectChange: () => app.flags.expectChange(),
  }
}

type ProjectCall = Pick<
  RouteCall<{ readonly project: Project }, typeof FlagChange>,
  'caller' | 'params' | 'project'
>

async function changeFlag(
  app: AppContext,
  call: ProjectCall,
  changes: FlagChanges,
): Promise<Response> {
  const { params, project, caller } = call
  const before = getFlag(app.control, project.id, parseNumberId(params))
  requireDashboards(app, project.id, changes.analytics_dashboards)
  const flag = updateFlag(editorOf(app, project, caller), before, changes, app.now())
  return answerJson((await flagSerializer(app, { caller, project }))(flag))
}

/** Refuses dashboards of other projects. */
function requireDashboards(app: AppContext, project_id: number, ids: unknown): void {
  for (const id of Array.isArray(ids) ? ids : []) {
    try {
      getDashboard(app.control, project_id, Number(id))
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      const detail = `Invalid pk "${String(id)}" - object does not exist.`
      throw new Refusal('does_not_exist', detail, { attr: 'analytics_dashboards' })
    }
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
