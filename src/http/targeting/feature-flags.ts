/** Feature flags under a project: listed, made, read, changed. Deleting is a change (wire §3.8). */
import type { Static } from 'elysia'
import { getDashboard } from '../../boards/dashboard.ts'
import { FlagsQuery } from '../../contract/flag-lists.ts'
import { FlagAnswer, FlagChange, FlagPage, NewFlag } from '../../contract/flags.ts'
import { Refusal } from '../../errors.ts'
import type { Asker } from '../../projects/access.ts'
import type { Project } from '../../projects/project.ts'
import { rightsIn } from '../../projects/rights.ts'
import type { Editor } from '../../targeting/editor.ts'
import { createFlag, getFlag, updateFlag, type WantedFlag } from '../../targeting/flag.ts'
import { queryOf } from '../addresses.ts'
import { answerJson } from '../answers.ts'
import { numberIn } from '../ids.ts'
import type { Needs } from '../needs.ts'
import { answerPage } from '../pages.ts'
import { flagShower } from '../public/flag-wire.ts'
import { type Call, projectRoute } from '../route.ts'
import { shapeOf } from '../shape.ts'
import { findFlags, sortFlags } from './flag-filters.ts'

const NEW_FLAG = shapeOf(NewFlag)
const FLAG_CHANGE = shapeOf(FlagChange)

export const FEATURE_FLAG_ROUTES = [
  projectRoute({
    method: 'GET',
    path: 'feature_flags/',
    scope: 'feature_flag:read',
    says: "List the project's feature flags, newest first.",
    query: FlagsQuery,
    answers: { 200: FlagPage },
    answer: async (needs, { request, asker, project }) => {
      const said = new Map(new URLSearchParams(queryOf(request.url)))
      const found = await findFlags(needs, { project, request }, said)
      const flags = sortFlags(found, said.get('order') ?? null)
      return answerPage(request, needs.publicUrl(), flags, flagShower(needs, { asker, project }))
    },
  }),
  projectRoute({
    method: 'POST',
    path: 'feature_flags/',
    scope: 'feature_flag:write',
    says: 'Make a feature flag.',
    answers: { 201: FlagAnswer },
    body: NEW_FLAG,
    answer: (needs, { body, project, asker }) => {
      requireDashboards(needs, project.id, body.analytics_dashboards)
      const wanted = { ...wantedFlag(body), key: body.key }
      const flag = createFlag(editorOf(needs, project, asker), wanted, needs.now())
      return answerJson(flagShower(needs, { asker, project })(flag), 201)
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'feature_flags/:id/',
    scope: 'feature_flag:read',
    says: 'Read a feature flag, with the verdict whether clients can evaluate it by themselves.',
    answers: { 200: FlagAnswer },
    answer: (needs, { params, asker, project }) => {
      const flag = getFlag(needs.control, project.id, numberIn(params))
      return answerJson(flagShower(needs, { asker, project })(flag))
    },
  }),
  projectRoute({
    method: 'PATCH',
    path: 'feature_flags/:id/',
    scope: 'feature_flag:write',
    says: 'Change members of a feature flag; deleting is a change of `deleted`.',
    answers: { 200: FlagAnswer },
    body: FLAG_CHANGE,
    answer: (needs, call) => changeFlag(needs, call, wantedFlag(call.body)),
  }),
  projectRoute({
    method: 'PUT',
    path: 'feature_flags/:id/',
    scope: 'feature_flag:write',
    says: 'Change a feature flag, naming its key.',
    answers: { 200: FlagAnswer },
    body: NEW_FLAG,
    answer: (needs, call) => changeFlag(needs, call, wantedFlag(call.body)),
  }),
] as const

/** Who changes what: read outside of the change's transaction. */
export function editorOf(needs: Needs, project: Project, asker: Asker): Editor {
  return {
    control: needs.control,
    project,
    user_id: asker.user_id,
    rights: rightsIn(needs.control, asker, project),
    saved_max: needs.saved_max,
    saved_bytes_max: needs.saved_bytes_max,
    definitions: needs.flags.flagsOf(project.id).definitions,
    expectChange: () => needs.flags.expectChange(),
  }
}

type ProjectCall = Pick<
  Call<{ readonly project: Project }, typeof FlagChange>,
  'asker' | 'params' | 'project'
>

function changeFlag(needs: Needs, call: ProjectCall, wanted: WantedFlag): Response {
  const { params, project, asker } = call
  const before = getFlag(needs.control, project.id, numberIn(params))
  requireDashboards(needs, project.id, wanted.analytics_dashboards)
  const flag = updateFlag(editorOf(needs, project, asker), before, wanted, needs.now())
  return answerJson(flagShower(needs, { asker, project })(flag))
}

/** Refuses dashboards that are not the project's own. */
function requireDashboards(needs: Needs, project_id: number, ids: unknown): void {
  for (const id of Array.isArray(ids) ? ids : []) {
    try {
      getDashboard(needs.control, project_id, Number(id))
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      const detail = `Invalid pk "${String(id)}" - object does not exist.`
      throw new Refusal('does_not_exist', detail, { attr: 'analytics_dashboards' })
    }
  }
}

/** Of a body what is stored; null says of most members what absence says of new flags. */
function wantedFlag(body: Static<typeof FlagChange>): WantedFlag {
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
  // What is undefined was not said.
  const said = Object.entries(wanted).filter(([, value]) => value !== undefined)
  return Object.fromEntries(said) as WantedFlag
}

function orFalse(value: boolean | null | undefined): boolean | undefined {
  return value === null ? false : value
}
