/** Demo data: ordered, and how far it is. Interface §3, §4.4. */
import { DemoBody, DemoStateAnswer } from '../../contract/project.ts'
import { type Asker, requireLevel } from '../../projects/access.ts'
import { demoRunOnWire, findDemoRun, orderDemoData } from '../../projects/demo-runs.ts'
import { findProject, type Project } from '../../projects/project.ts'
import { ADMIN, type Level } from '../../projects/tables.ts'
import { answerJson } from '../answers.ts'
import type { Needs } from '../needs.ts'
import { everyProjectRoute } from '../route.ts'
import { shapeOf } from '../shape.ts'
import { projectOnWire } from './projects.ts'

export const DEMO_ROUTES = [
  everyProjectRoute({
    method: 'GET',
    path: 'is_generating_demo_data/',
    scope: 'project:read',
    says: 'Read whether demo data is being generated, and how far it is.',
    answers: { 200: DemoStateAnswer },
    answer: (needs, { asker, project, level }) =>
      answerJson(demoOnWire(needs, project, { asker, level })),
  }),
  everyProjectRoute({
    method: 'POST',
    path: 'generate_demo_data/',
    scope: 'project:write',
    says: 'Fill a project with a believable product: the same seed and end give the same events.',
    body: shapeOf(DemoBody),
    answers: { 202: DemoStateAnswer },
    answer: (needs, { asker, project, level, body }) => {
      requireLevel(level, ADMIN)
      const { seed, persons, days, end_at } = body
      const wanted = { project_id: project.id, seed, persons, days }
      const ends = end_at === undefined ? undefined : new Date(end_at)
      orderDemoData(needs.control, { ...wanted, end_at: ends }, needs.now())
      needs.demo.look()
      const changed = findProject(needs.control, project.id) ?? project
      return answerJson(demoOnWire(needs, changed, { asker, level }), 202)
    },
  }),
] as const

function demoOnWire(
  needs: Needs,
  project: Project,
  to: { readonly asker: Asker; readonly level: Level },
): object {
  const run = findDemoRun(needs.control, project.id)
  return {
    ...projectOnWire(needs, project, to),
    is_generating_demo_data: run?.state === 'running',
    demo_data: run && demoRunOnWire(run),
  }
}
