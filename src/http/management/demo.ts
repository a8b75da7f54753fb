/** Demo data of a project: start a run, and read its progress. */
import { DemoBody, DemoStateAnswer } from '../../contract/management/project.ts'
import { findDemoRun, requestDemoData, serializeDemoRun } from '../../projects/demo-runs.ts'
import { type Caller, requireLevel } from '../../projects/rights/access.ts'
import { findProject, type Project } from '../../projects/settings/project.ts'
import { ADMIN, type MemberLevel } from '../../projects/tables.ts'
import { answerJson } from '../answers/answers.ts'
import type { AppContext } from '../app-context.ts'
import { validatorOf } from '../bodies/shape.ts'
import { parseTimestamp } from '../bodies/timestamps.ts'
import { everyProjectRoute } from '../route.ts'
import { serializeProject } from './projects.ts'

export const DEMO_ROUTES = [
  everyProjectRoute({
    method: 'GET',
    path: 'is_generating_demo_data/',
    scope: 'project:read',
    summary: 'Read the progress of generating demo data.',
    answers: { 200: DemoStateAnswer },
    answer: (app, { caller, project, level }) =>
      answerJson(demoOnWire(app, project, { caller, level })),
  }),
  everyProjectRoute({
    method: 'POST',
    path: 'generate_demo_data/',
    scope: 'project:write',
    summary: 'Fill a project with demo data; the same seed and end give the same events.',
    body: validatorOf(DemoBody),
    answers: { 202: DemoStateAnswer },
    answer: (app, { caller, project, level, body }) => {
      requireLevel(level, ADMIN)
      const { seed, persons, days, end_at } = body
      const wanted = { project_id: project.id, seed, persons, days }
      const ends = parseTimestamp(end_at, 'end_at') ?? undefined
      requestDemoData(app.control, { ...wanted, end_at: ends }, app.now())
      app.demo.look()
      const changed = findProject(app.control, project.id) ?? project
      return answerJson(demoOnWire(app, changed, { caller, level }), 202)
    },
  }),
] as const

function demoOnWire(
  app: AppContext,
  project: Project,
  to: { readonly caller: Caller; readonly level: MemberLevel },
): object {
  const run = findDemoRun(app.control, project.id)
  return {
    ...serializeProject(app, project, to),
    is_generating_demo_data: run?.state === 'running',
    demo_data: run && serializeDemoRun(run),
  }
}
