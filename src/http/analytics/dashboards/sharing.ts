/** The public link of a dashboard: read, open, end and renew it. `browser/shared.ts` answers the link itself. */
import { SharingAnswer, SharingBody } from '../../../contract/analytics/sharing.ts'
import { requirePresent } from '../../../dashboards/board-editor.ts'
import { type Dashboard, getDashboard } from '../../../dashboards/dashboard.ts'
import { type DashboardLink, findLink, setLink } from '../../../dashboards/sharing.ts'
import type { Project } from '../../../projects/settings/project.ts'
import { answerJson } from '../../answers/answers.ts'
import type { AppContext } from '../../app-context.ts'
import { validatorOf } from '../../bodies/shape.ts'
import { boardEditor } from '../../callers/editors.ts'
import type { PathParams } from '../../endpoint.ts'
import { parseNumberId } from '../../path-ids.ts'
import { projectRoute } from '../../route.ts'

export const SHARING_ROUTES = [
  projectRoute({
    method: 'GET',
    path: 'dashboards/:id/sharing/',
    scope: 'sharing_configuration:read',
    summary: 'Read the public link of a dashboard.',
    answers: { 200: SharingAnswer },
    answer: (app, { project, params }) =>
      answerJson(serializeLink(findLink(app.control, requireBoard(app, project, params).id))),
  }),
  projectRoute({
    method: 'PATCH',
    path: 'dashboards/:id/sharing/',
    scope: 'sharing_configuration:write',
    summary: 'Enable or disable the public link of a dashboard.',
    body: validatorOf(SharingBody),
    answers: { 200: SharingAnswer },
    answer: (app, { project, params, caller, body }) => {
      const dashboard = requireBoard(app, project, params)
      const editor = boardEditor(app, project, caller)
      const { enabled } = body
      return answerJson(serializeLink(setLink(editor, dashboard, { enabled }, app.now())))
    },
  }),
  projectRoute({
    method: 'POST',
    path: 'dashboards/:id/sharing/refresh/',
    scope: 'sharing_configuration:write',
    summary: 'Replace the public link of a dashboard; the old link stops working.',
    answers: { 200: SharingAnswer },
    answer: (app, { project, params, caller }) => {
      const dashboard = requireBoard(app, project, params)
      const editor = boardEditor(app, project, caller)
      const enabled = findLink(app.control, dashboard.id)?.enabled ?? false
      const renewed = setLink(editor, dashboard, { enabled, is_renewed: true }, app.now())
      return answerJson(serializeLink(renewed))
    },
  }),
] as const

function requireBoard(app: AppContext, project: Project, params: PathParams): Dashboard {
  return requirePresent(getDashboard(app.control, project.id, parseNumberId(params)))
}

function serializeLink(link: DashboardLink | null): object {
  return {
    created_at: link?.created_at ?? null,
    enabled: link?.enabled ?? false,
    access_token: link?.access_token ?? null,
    settings: null,
    password_required: false,
    share_passwords: [],
  }
}
