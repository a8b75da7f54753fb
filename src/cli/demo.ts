/** `demo`: fills a project with demo data, through the running server or, when none runs, by itself. */
import type { Command } from 'commander'
import { readDataDir } from '../config.ts'
import { findDemoRun, requestDemoData } from '../projects/demo-runs.ts'
import { findProject } from '../projects/settings/project.ts'
import type { ControlDB } from '../storage/control/control-db.ts'
import { FolderInUse } from '../storage/process/lock.ts'
import {
  addStoreOptions,
  type DataFolderOptions,
  parseId,
  printResult,
  readOwnServerConfig,
  requireOwnFolder,
  withControlDB,
} from './options.ts'

type DemoOptions = DataFolderOptions & {
  readonly project: number
  readonly seed?: string
  readonly persons?: string
  readonly days?: string
}

const LOOK_MS = 200

const EXAMPLES = `
The same seed gives the same people and events, up to the last full hour.

Example:
  $ tidemark demo --project 1 --persons 1000 --days 180`

/** Adds `demo`. */
export function addDemoCommand(program: Command): void {
  addStoreOptions(program.command('demo'))
    .requiredOption('--project <id>', 'project to fill', parseId)
    .option('--seed <text>', 'seed of the random numbers')
    .option('--persons <number>', 'number of persons; 500 by default')
    .option('--days <number>', 'number of past days; 90 by default')
    .description('Fill a project with demo data: persons, companies, sessions, flags.')
    .addHelpText('after', EXAMPLES)
    .action(async (options: DemoOptions) => {
      order(options)
      const server = await startOwnServer(options)
      try {
        const events = await waitForEnd(options)
        printResult(options, { project: options.project, events }, `${events} events generated`)
      } finally {
        await server?.stop()
      }
    })
}

function order(options: DemoOptions): void {
  const { project, seed, persons, days } = options
  withControlDB(options, ({ db }) => {
    if (findProject(db, project) === null) throw new Error('There is no such project.')
    const wanted = { project_id: project, seed, persons: numberOf(persons), days: numberOf(days) }
    requestDemoData(db, wanted, new Date())
  })
}

const numberOf = (text: string | undefined): number | undefined =>
  text === undefined ? undefined : Number(text)

/** Starts a server on a random local port; null when a running server has the folder and does the work. */
async function startOwnServer({ dataDir }: DemoOptions): Promise<{ stop(): Promise<void> } | null> {
  const { startForCommand } = await import('../serve.ts')
  const config = readOwnServerConfig(readDataDir(dataDir))
  requireOwnFolder(config.data_dir)
  try {
    return await startForCommand(config)
  } catch (error) {
    if (error instanceof FolderInUse) return null
    throw error
  }
}

async function waitForEnd(options: DemoOptions): Promise<number> {
  for (;;) {
    const run = withControlDB(options, ({ db }) => getRun(db, options.project))
    if (run.state === 'done') return run.done_events
    if (run.state === 'failed') throw new Error(run.error ?? 'The demo data failed.')
    await Bun.sleep(LOOK_MS)
  }
}

function getRun(db: ControlDB, project_id: number) {
  const run = findDemoRun(db, project_id)
  if (run === null) throw new Error('The project is gone.')
  return run
}
