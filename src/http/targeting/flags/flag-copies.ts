/** Flags across the projects of an organization: a key's flags in each, and copies into others. */
import { CopiesAnswer, FlagCopy, FlagsOfKey } from '../../../contract/targeting/flags.ts'
import { Refusal } from '../../../errors.ts'
import { type Caller, listProjectsWithLevel } from '../../../projects/rights/access.ts'
import { hasRight, requireRight, rightsAt, rightsIn } from '../../../projects/rights/rights.ts'
import type { Project } from '../../../projects/settings/project.ts'
import { type Flag, findFlagByKey } from '../../../targeting/flags/flag.ts'
import { copyFlag, listCopiedCohorts } from '../../../targeting/flags/flag-copy.ts'
import { listPendingChanges, scheduleChange } from '../../../targeting/flags/scheduled-change.ts'
import type { TargetingEditor } from '../../../targeting/shared/editor.ts'
import { requireShownBehaviors } from '../../analytics/queries/hidden-tables.ts'
import { answerJson } from '../../answers/answers.ts'
import type { AppContext } from '../../app-context.ts'
import { validatorOf } from '../../bodies/shape.ts'
import { authorFinder } from '../../callers/authors.ts'
import { targetingEditor } from '../../callers/editors.ts'
import { organizationRoute } from '../../route.ts'
import { flagSerializer } from './flag-serializer.ts'

const FLAG_COPY = validatorOf(FlagCopy)

export const FLAG_COPY_ROUTES = [
  organizationRoute({
    method: 'POST',
    path: 'feature_flags/copy_flags/',
    scope: 'feature_flag:write',
    summary: 'Copy a flag into other projects of the organization.',
    answers: { 200: CopiesAnswer },
    body: FLAG_COPY,
    answer: async (app, { body, caller, organization }) => {
      const projects = shownProjects(app, caller, organization.id)
      const source = projects.find(({ id }) => id === body.from_project)
      const flag = source && findFlagByKey(app.control, source.id, body.feature_flag_key)
      if (!source || !flag) throw new Refusal('not_found', 'Feature flag to copy does not exist.')
      const success: object[] = []
      const failed: object[] = []
      for (const project_id of body.target_project_ids) {
        const target = projects.find(({ id }) => id === project_id)
        if (target === undefined) {
          failed.push({ project_id, error_message: 'Target project not found.' })
          continue
        }
        try {
          for (const { filters } of listCopiedCohorts(app.control, flag)) {
            await requireShownBehaviors(app, { caller, project: target }, filters)
          }
          await app.flags.readyFlagsOf(target.id)
          const copied = copyTo(app, caller, flag, { target, ...body })
          const serialize = await flagSerializer(app, { caller, project: target })
          success.push({ ...serialize(copied), team_id: target.id })
        } catch (error) {
          if (!(error instanceof Refusal)) throw error
          failed.push({ project_id, error_message: error.detail })
        }
        await Bun.sleep(0)
      }
      return answerJson({ success, failed })
    },
  }),
  organizationRoute({
    method: 'GET',
    path: 'feature_flags/:key/',
    scope: 'feature_flag:read',
    summary: 'List the flags of one key in all projects of the organization.',
    answers: { 200: FlagsOfKey },
    answer: (app, { caller, params, organization }) => {
      const nameAuthor = authorFinder(app)
      const projects = shownProjects(app, caller, organization.id)
      const flags = projects.flatMap(
        ({ id }) => findFlagByKey(app.control, id, params['key'] ?? '') ?? [],
      )
      if (flags.length === 0) throw new Refusal('not_found', 'Not found.')
      const items = flags.map((flag) => ({
        flag_id: flag.id,
        team_id: flag.project_id,
        created_by: nameAuthor(flag.created_by),
        filters: flag.filters,
        created_at: flag.created_at,
        active: flag.active,
      }))
      return answerJson(items)
    },
  }),
] as const

/** The organization's projects whose flags the caller may read: a member's level can differ by project. */
function shownProjects(
  app: AppContext,
  caller: Caller,
  organization_id: string,
): readonly Project[] {
  const { control } = app
  return listProjectsWithLevel(control, caller).flatMap(({ item, level }) => {
    if (item.organization_id !== organization_id) return []
    const rights = rightsAt(control, caller, { project: item, level })
    return hasRight(rights, { scope: 'feature_flag:read', by: 'level' }) ? [item] : []
  })
}

type CopyTarget = {
  readonly target: Project
  readonly copy_schedule?: boolean | null
  readonly disable_copied_flag?: boolean | null
}

function copyTo(app: AppContext, caller: Caller, flag: Flag, request: CopyTarget): Flag {
  const { control } = app
  const { target: project } = request
  requireRight(rightsIn(control, caller, project), { scope: 'feature_flag:write', by: 'level' })
  const now = app.now()
  const { definitions: _before, ...rest } = targetingEditor(app, project, caller)
  const editor = (): TargetingEditor => {
    const { definitions } = app.flags.uncommittedFlagsOf(project.id)
    return { ...rest, definitions }
  }
  const is_disabled = request.disable_copied_flag === true
  // With all that the flag depends on, or nothing.
  return control.transaction(() => {
    const copy = copyFlag({ control, editor, now, is_disabled }, flag)
    const plans = request.copy_schedule === true ? listPendingChanges(control, flag) : []
    for (const plan of plans)
      scheduleChange({ ...editor(), timezone: project.timezone }, copy, plan, now)
    return copy
  })
}
