/** `export` and `import`: a project's events and persons as files, out and in. */
import { createHash } from 'node:crypto'
import { join, resolve } from 'node:path'
import { type Command, InvalidArgumentError } from 'commander'
import { exportProject } from '../backup/export.ts'
import { EXPORT_FORMATS, type ExportFormat } from '../backup/export-formats.ts'
import { importFiles } from '../backup/import.ts'
import { listImportFiles } from '../backup/import-files.ts'
import { SOURCES, type SourceName } from '../backup/sources/sources.ts'
import { readConfig, readDataDir } from '../config.ts'
import { openLog } from '../logs.ts'
import { findProject } from '../projects/settings/project.ts'
import { prepareDuckDB } from '../storage/duckdb/duckdb-native.ts'
import { FolderInUse, findHolder } from '../storage/process/lock.ts'
import {
  addStoreOptions,
  type DataFolderOptions,
  parseId,
  printResult,
  withControlDB,
} from './options.ts'
import { openProgress } from './progress.ts'

type ExportCommandOptions = DataFolderOptions & {
  readonly project: number
  readonly format: ExportFormat
}
type ImportCommandOptions = DataFolderOptions & {
  readonly project: number
  readonly from?: SourceName
}

const SOURCE_NAMES = Object.keys(SOURCES) as readonly SourceName[]

const EXPORT_EXAMPLE = `
One file of events per month, one of persons. "tidemark import" takes them again, here or elsewhere.

Example:
  $ tidemark export --project 1 --format parquet /mnt/exports/web-shop`

const IMPORT_HELP = `
Takes what "tidemark export" wrote, and events as SDKs send them: .jsonl or .ndjson with one event per line, .json with
a list or a request's body, .parquet with columns of these names; text files may be gzipped. They are stored as a
historical migration, through the server that runs on the folder or by itself. Begun again after it was cut off, it
goes on where it was; an event with a uuid is stored once in any case. Persons come as events $set and
$merge_dangerously.

With --from it reads what another tool exported (unpack archives first), and says what it could not bring over:
  posthog     batch exports of events and persons: .parquet, .jsonl
  mixpanel    the raw event export: .jsonl
  amplitude   the folder of .json.gz files of its Export API
  ga4         rows of BigQuery's events_YYYYMMDD: .json with one row per line, .parquet
  umami       website_event.csv
Plausible exports sums per day, in which there are no events to bring over.

Examples:
  $ tidemark import --project 1 /mnt/exports/web-shop
  $ tidemark import --project 1 --from mixpanel export.jsonl`

/** Adds the commands. */
export function addExportCommands(program: Command): void {
  addStoreOptions(program.command('export'))
    .argument('<folder>', 'where the files go: a folder that is not there yet')
    .requiredOption('--project <id>', 'project to export', parseId)
    .option('--format <format>', EXPORT_FORMATS.join(' or '), parseFormat, 'jsonl')
    .description("Write a project's events and persons into files, also while a server runs.")
    .addHelpText('after', EXPORT_EXAMPLE)
    .action(exportFrom)

  addStoreOptions(program.command('import'))
    .argument('<paths...>', 'files, or folders of files')
    .requiredOption('--project <id>', 'project that gets the events', parseId)
    .option('--from <tool>', `tool that wrote the files: ${SOURCE_NAMES.join(', ')}`, parseSource)
    .description('Store events and persons from files.')
    .addHelpText('after', IMPORT_HELP)
    .action(importInto)
}

function parseFormat(text: string): ExportFormat {
  const format = EXPORT_FORMATS.find((known) => known === text)
  if (format !== undefined) return format
  throw new InvalidArgumentError(`It is none of ${EXPORT_FORMATS.join(', ')}.`)
}

function parseSource(text: string): SourceName {
  if (text === 'plausible') {
    throw new InvalidArgumentError(
      'Plausible exports sums per day (visitors, page views, sources): there are no events in them.',
    )
  }
  const name = SOURCE_NAMES.find((known) => known === text)
  if (name !== undefined) return name
  throw new InvalidArgumentError(`It is none of ${SOURCE_NAMES.join(', ')}.`)
}

async function exportFrom(folder: string, options: ExportCommandOptions): Promise<void> {
  const data_dir = readDataDir(options.dataDir)
  getToken(options)
  prepareDuckDB(data_dir)
  const progress = openProgress()
  try {
    const { project: project_id, format } = options
    const tell = (done: number, all: number): void =>
      progress.show(done, all, `${done} of ${all} months`)
    const made = await exportProject({ data_dir, folder, project_id, format, tell })
    progress.end()
    const text = `${made.events} events and ${made.persons} persons in ${made.files.length} files of ${folder}`
    printResult(options, { ...made, folder }, text)
  } finally {
    progress.end()
  }
}

async function importInto(paths: readonly string[], options: ImportCommandOptions): Promise<void> {
  const data_dir = readDataDir(options.dataDir)
  const files = listImportFiles(
    paths.map((path) => resolve(path)),
    options.from !== undefined,
  )
  prepareDuckDB(data_dir)
  const of = JSON.stringify([options.project, files.map(({ path }) => path), options.from])
  const name = createHash('sha256').update(of).digest('hex').slice(0, 16)
  const api_token = getToken(options)
  const server = await findServer(options)
  const progress = openProgress()
  try {
    const made = await importFiles({
      url: server.url,
      api_token,
      files,
      mapRecord: options.from === undefined ? null : SOURCES[options.from],
      progress_path: join(data_dir, `import-${name}.json`),
      tell: (done, all, events) => progress.show(done, all, `${events} events`),
    })
    progress.end()
    const skipped = made.records_skipped === 0 ? '' : `, ${made.records_skipped} were there already`
    const left_out = Object.entries(made.left_out).map(
      ([reason, count]) => `\n${count} records were not brought over: ${reason}`,
    )
    printResult(options, made, `${made.events} events stored${skipped}${left_out.join('')}`)
  } finally {
    progress.end()
    await server.stop()
  }
}

/** Finds the project's token; refuses an unknown project. */
function getToken(options: ImportCommandOptions): string {
  const project = withControlDB(options, ({ db }) => findProject(db, options.project))
  if (project === null) throw new Error(`There is no project ${options.project}.`)
  return project.api_token
}

/** Finds the server on the folder, or starts one on a random local port. */
async function findServer({
  dataDir,
}: DataFolderOptions): Promise<{ url: string; stop(): Promise<void> }> {
  const data_dir = readDataDir(dataDir)
  const { startServer } = await import('../serve.ts')
  try {
    const config = readConfig({ data_dir, host: '127.0.0.1', port: '0' })
    return await startServer(config, openLog('error', []))
  } catch (error) {
    if (!(error instanceof FolderInUse)) throw error
    const url = findHolder(data_dir)?.url ?? null
    if (url === null) throw error
    return { url, stop: async () => undefined }
  }
}
