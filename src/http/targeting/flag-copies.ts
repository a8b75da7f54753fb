/** Flags across the projects of an organization: one key everywhere, and copies from one project into others (wire §3.8). */
import { CopiesAnswer, FlagCopy, FlagsOfKey } from '../../contract/flags.ts'
import { Refusal } from '../../errors.ts'
import { type Asker, listProjectsWithLevel } from '../../projects/access.ts'
import type { Project } from '../../projects/project.ts'
import { hasRight, requireRight, rightsAt, rightsIn } from '../../projects/rights.ts'
import { type Flag, findFlagByKey } from '../../targeting/flag.ts'
import { copyFlag } from '../../targeting/flag-copy.ts'
import { listWaiting, planChange } from '../../targeting/scheduled-change.ts'
import { answerJson } from '../answers.ts'
import type { Needs } from '../needs.ts'
import { flagShower } from '../public/flag-wire.ts'
import { organizationRoute } from '../route.ts'
import { shapeOf } from '../shape.ts'
import { authorNamer } from './authors.ts'
import { editorOf } from './feature-flags.ts'

const FLAG_COPY = shapeOf(FlagCopy)

export const FLAG_COPY_ROUTES = [
  organizationRoute({
    method: 'POST',
    path: 'feature_flags/copy_flags/',
    scope: 'feature_flag:write',
    says: 'Copy a flag into other projects of the organization.',
    answers: { 200: CopiesAnswer },
    body: FLAG_COPY,
    answer: async (needs, { body, asker, organization }) => {
      const projects = shownProjects(needs, asker, organization.id)
      const source = projects.find(({ id }) => id === body.from_project)
      const flag = source && findFlagByKey(needs.control, source.id, body.feature_flag_key)
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
          const copied = copyTo(needs, asker, flag, { target, ...body })
          success.push({
            ...flagShower(needs, { asker, project: target })(copied),
            team_id: target.id,
          })
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
    says: 'List the flags of one key in all projects of the organization.',
    answers: { 200: FlagsOfKey },
    answer: (needs, { asker, params, organization }) => {
      const nameAuthor = authorNamer(needs)
      const projects = shownProjects(needs, asker, organization.id)
      const flags = projects.flatMap(
        ({ id }) => findFlagByKey(needs.control, id, params['key'] ?? '') ?? [],
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

/** The projects of an organization whose flags the asker may look at: a member may have less in one than in others. */
function shownProjects(needs: Needs, asker: Asker, organization_id: string): readonly Project[] {
  const { control } = needs
  return listProjectsWithLevel(control, asker).flatMap(({ thing, level }) => {
    if (thing.organization_id !== organization_id) return []
    const rights = rightsAt(control, asker, { project: thing, level })
    return hasRight(rights, { scope: 'feature_flag:read', by: 'level' }) ? [thing] : []
  })
}

type Wanted = {
  readonly target: Project
  readonly copy_schedule?: boolean | null
  readonly disable_copied_flag?: boolean | null
}

function copyTo(needs: Needs, asker: Asker, flag: Flag, wanted: Wanted): Flag {
  const { control } = needs
  const { target: project } = wanted
  requireRight(rightsIn(control, asker, project), { scope: 'feature_flag:write', by: 'level' })
  const now = needs.now()
  const editor = () => editorOf(needs, project, asker)
  const is_disabled = wanted.disable_copied_flag === true
  const copy = copyFlag({ control, editor, now, is_disabled }, flag)
  const plans = wanted.copy_schedule === true ? listWaiting(control, flag) : []
  for (const plan of plans) planChange({ ...editor(), timezone: project.timezone }, copy, plan, now)
  return copy
}
