/** Flags across the projects of an organization: one key everywhere, and copies from one project into others (wire §3.8). */
import { CopiesAnswer, FlagCopy, FlagsOfKey } from '../../contract/flags.ts'
import { Refusal } from '../../errors.ts'
import { type Asker, getVisibleProject, listVisibleProjects } from '../../projects/access.ts'
import type { Project } from '../../projects/project.ts'
import { type Flag, findFlagByKey } from '../../targeting/flag.ts'
import { copyFlag } from '../../targeting/flag-copy.ts'
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
    answer: (needs, { body, asker, organization }) => {
      const projects = projectsOf(needs, asker, organization.id)
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
          const copied = copyTo(needs, asker, flag, target)
          success.push({ ...flagShower(needs, target.id)(copied), team_id: target.id })
        } catch (error) {
          if (!(error instanceof Refusal)) throw error
          failed.push({ project_id, error_message: error.detail })
        }
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
      const projects = projectsOf(needs, asker, organization.id)
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

function projectsOf(needs: Needs, asker: Asker, organization_id: string): readonly Project[] {
  return listVisibleProjects(needs.control, asker).filter(
    (project) => project.organization_id === organization_id,
  )
}

function copyTo(needs: Needs, asker: Asker, flag: Flag, target: Project): Flag {
  const project = getVisibleProject(needs.control, asker, String(target.id)).thing
  const editor = () => editorOf(needs, project, asker)
  return copyFlag({ control: needs.control, editor, now: needs.now() }, flag)
}
