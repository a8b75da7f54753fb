/** Dashboards to start with: the list of them, and a dashboard made of one that the caller sends. */
import type { Static } from 'elysia'
import {
  DashboardAnswer,
  DashboardTemplateAnswer,
  DashboardTemplatePage,
  DashboardTemplatesQuery,
  TemplateBody,
} from '../../../contract/analytics/dashboards.ts'
import { createDashboard, type DashboardStart } from '../../../dashboards/dashboard.ts'
import {
  type DashboardTemplate,
  TEMPLATES,
  type TemplateTile,
} from '../../../dashboards/templates.ts'
import { Refusal } from '../../../errors.ts'
import type { Json } from '../../../projects/tables.ts'
import { answerJson } from '../../answers/answers.ts'
import { answerPage, queryValue, readSearch } from '../../answers/pages.ts'
import { validatorOf } from '../../bodies/shape.ts'
import { boardEditor } from '../../callers/editors.ts'
import { pathNames, projectRoute } from '../../route.ts'
import { serializeWholeDashboard } from './dashboards.ts'

export const DASHBOARD_TEMPLATE_ROUTES = [
  projectRoute({
    method: 'GET',
    path: 'dashboard_templates/',
    scope: 'dashboard_template:read',
    summary: 'List dashboard templates.',
    query: DashboardTemplatesQuery,
    answers: { 200: DashboardTemplatePage },
    answer: (app, { request }) => {
      const search = readSearch(request).toLowerCase()
      const is_global = (queryValue(request, 'scope') ?? 'global') === 'global'
      const found = TEMPLATES.filter((template) => is_global && isAbout(template, search))
      return answerPage(request, app.publicUrl(), found, serializeTemplate)
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'dashboard_templates/:id/',
    scope: 'dashboard_template:read',
    summary: 'Read a dashboard template.',
    answers: { 200: DashboardTemplateAnswer },
    answer: (_app, { params }) => {
      const template = TEMPLATES.find(({ id }) => id === pathNames(params, 'id'))
      if (template === undefined) throw new Refusal('not_found', 'Not found.')
      return answerJson(serializeTemplate(template))
    },
  }),
  projectRoute({
    method: 'POST',
    path: 'dashboards/create_from_template_json/',
    scope: 'dashboard:write',
    summary: 'Create a dashboard from a template in the body.',
    body: validatorOf(TemplateBody),
    answers: { 200: DashboardAnswer },
    answer: async (app, call) => {
      const { body, project, caller } = call
      const source = { kind: 'template', template: readTemplate(body) } as const
      const editor = boardEditor(app, project, caller)
      const dashboard = createDashboard(editor, { source }, app.now())
      return answerJson(await serializeWholeDashboard(app, call, dashboard, false))
    },
  }),
] as const

function isAbout(template: DashboardTemplate, search: string): boolean {
  const { template_name, dashboard_description, tags } = template
  return [template_name, dashboard_description, ...tags].some((text) =>
    text.toLowerCase().includes(search),
  )
}

function serializeTemplate(template: DashboardTemplate): object {
  return {
    ...template,
    variables: [],
    deleted: false,
    scope: 'global',
    team_id: null,
    image_url: null,
    created_by: null,
    created_at: null,
  }
}

function readTemplate({ template }: Static<typeof TemplateBody>): DashboardStart {
  const { template_name, dashboard_description, dashboard_filters, tags, tiles } = template
  return {
    template_name: template_name ?? '',
    dashboard_description: dashboard_description ?? '',
    dashboard_filters: dashboard_filters ?? {},
    tags: tags ?? [],
    tiles: tiles.map((tile): TemplateTile => {
      const layouts = (tile.layouts ?? {}) as Json
      const color = tile.color ?? null
      if (tile.type === 'TEXT') return { type: 'TEXT', body: tile.body, layouts, color }
      const { name, description, query, filters } = tile
      return {
        type: 'INSIGHT',
        name: name ?? '',
        description: description ?? '',
        query: (query ?? null) as Json,
        filters: (filters ?? {}) as Json,
        layouts,
        color,
      }
    }),
  }
}
