/** `export` and `import`: a project's events and persons as files, out and in. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { exportProject } from '../backup/export.ts'
import { EXPORT_FORMATS, type ExportFormat } from '../backup/export-formats.ts'
import { importFiles } from '../backup/import.ts'
import { listImportFiles } from '../backup/import-files.ts'
import { type MoveInOptions, moveIn, requireMoveInput } from '../backup/server/move-in.ts'
import { nameMove } from '../backup/server/move-state.ts'
import { readServerUrl } from '../backup/server/server-api.ts'
import { SOURCES, type SourceName } from '../backup/sources/sources.ts'
import { readDataDir } from '../config.ts'
import { createApiKey, listAllKeys, revokeKeyById } from '../projects/keys/api-key.ts'
import { getOrganizationOwner } from '../projects/organization.ts'
import { findProject } from '../projects/settings/project.ts'
import { prepareDuckDB } from '../storage/duckdb/duckdb-native.ts'
import { FolderInUse, findHolder, takeLock } from '../storage/process/lock.ts'
import {
  addStoreOptions,
  type DataFolderOptions,
  parseId,
  printResult,
  readOwnServerConfig,
  requireOwnFolder,
  withControlDB,
} from './options.ts'
import { openProgress, type ProgressBar } from './progress.ts'

type ExportCommandOptions = DataFolderOptions & {
  readonly project: number
  readonly format: ExportFormat
}
type ImportCommandOptions = DataFolderOptions & {
  readonly project: number
  readonly from?: SourceName
}
type ServerSource = {
  readonly url?: string
  readonly sourceProject?: number
  readonly keyFile?: string
  readonly key?: string
  readonly kinds?: readonly string[]
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

With --from posthog and --url it reads another server's API instead of files: events, groups, persons, and definitions
(flags, cohorts, actions, insights, dashboards, annotations, early access features, experiments, surveys). The personal
key for that server comes from --key-file or TIDEMARK_SOURCE_KEY; it needs query:read, group:read, and :read of what it
brings over. Begun again, it goes on where it was cut off; after the end, it brings over what is new or changed there.
A report says by name and reason what could not be brought over.

Examples:
  $ tidemark import --project 1 /mnt/exports/web-shop
  $ tidemark import --project 1 --from mixpanel export.jsonl
  $ tidemark import --project 1 --from posthog --url https://eu.posthog.com --source-project 42 --key-file key.txt`

/** Adds the commands. */
export function addExportCommands(program: Command): void {
  addStoreOptions(program.command('export'))
    .argument('<folder>', 'folder for the files, which must not exist yet')
    .requiredOption('--project <id>', 'project to export', parseId)
    .option('--format <format>', EXPORT_FORMATS.join(' or '), parseFormat, 'jsonl')
    .description("Write a project's events and persons into files, also while a server runs.")
    .addHelpText('after', EXPORT_EXAMPLE)
    .action(exportFrom)

  addStoreOptions(program.command('import'))
    .argument('[paths...]', 'files, or folders of files')
    .requiredOption('--project <id>', 'project that gets the events', parseId)
    .option('--from <tool>', `tool that wrote the files: ${SOURCE_NAMES.join(', ')}`, parseSource)
    .option('--url <address>', 'with --from posthog: the server to read instead of files')
    .option('--source-project <id>', 'with --url: its project', parseId)
    .option('--key-file <file>', 'with --url: a file with the personal key for that server')
    .addOption(
      new Option('--key <key>', 'with --url: that key; other users of this machine can see it').env(
        'TIDEMARK_SOURCE_KEY',
      ),
    )
    .option('--kinds <kinds...>', 'with --url: what to bring over; everything by default')
    .description("Store events and persons from files, or everything from another server's API.")
    .addHelpText('after', IMPORT_HELP)
    .action((paths: readonly string[], options: ImportCommandOptions & ServerSource) =>
      options.url === undefined ? importInto(paths, options) : importFromServer(paths, options),
    )
}

function parseFormat(text: string): ExportFormat {
  const format = EXPORT_FORMATS.find((known) => known === text)
  if (format !== undefined) return format
  throw new InvalidArgumentError(`It must be one of ${EXPORT_FORMATS.join(', ')}.`)
}

function parseSource(text: string): SourceName {
  if (text === 'plausible') {
    throw new InvalidArgumentError(
      'Plausible exports sums per day (visitors, page views, sources): there are no events in them.',
    )
  }
  const name = SOURCE_NAMES.find((known) => known === text)
  if (name !== undefined) return name
  throw new InvalidArgumentError(`It must be one of ${SOURCE_NAMES.join(', ')}.`)
}

async function exportFrom(folder: string, options: ExportCommandOptions): Promise<void> {
  const data_dir = readDataDir(options.dataDir)
  getToken(options)
  requireOwnFolder(data_dir)
  prepareDuckDB(data_dir)
  const progress = openProgress()
  try {
    const { project: project_id, format } = options
    const onProgress = (done: number, all: number): void =>
      progress.show(done, all, `${done} of ${all} months`)
    const made = await exportProject({ data_dir, folder, project_id, format, onProgress })
    progress.end()
    const text = `${made.events} events and ${made.persons} persons in ${made.files.length} files of ${folder}`
    printResult(options, { ...made, folder }, text)
  } finally {
    progress.end()
  }
}

async function importInto(paths: readonly string[], options: ImportCommandOptions): Promise<void> {
  if (paths.length === 0) throw new Error('Name files to import, or a server with --url.')
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
      onProgress: (done, all, events) => progress.show(done, all, `${events} events`),
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

/** Moves a project here from the server that the options name. */
async function importFromServer(
  paths: readonly string[],
  options: ImportCommandOptions & ServerSource,
): Promise<void> {
  const { project, sourceProject, kinds = [] } = options
  if (paths.length > 0) throw new Error('Name either files or a server, not both.')
  if (options.from !== 'posthog') throw new Error('--url needs --from posthog.')
  if (sourceProject === undefined) throw new Error('--url needs --source-project.')
  const url = readServerUrl(options.url ?? '')
  const key = readSourceKey(options)
  requireMoveInput(key, kinds)
  const data_dir = readDataDir(options.dataDir)
  const api_token = getToken(options)
  requireOwnFolder(data_dir)
  const ends = { url, source_project: sourceProject, project_id: project }
  const folder = join(data_dir, `import-${nameMove(ends)}`)
  // One run at a time: two would create everything twice.
  const lock = takeLock(folder, process.pid, new Date())
  const progress = openProgress()
  try {
    const server = await findServer(options)
    const here_key = makeHereKey(options, nameMove(ends))
    try {
      const made = await moveIn({
        ...ends,
        key,
        here: { url: server.url, api_token, key: here_key.value },
        folder,
        kinds,
        ...progressLines(progress),
      })
      progress.end()
      printResult(options, made.report, [...made.lines, `report: ${made.path}`].join('\n'))
    } finally {
      progress.end()
      withControlDB(options, ({ db }) => revokeKeyById(db, here_key.id))
      await server.stop()
    }
  } finally {
    progress.end()
    lock.release()
  }
}

/** Reads the key from its file, else as an option or variable gives it. */
function readSourceKey({ key = '', keyFile }: ServerSource): string {
  return keyFile === undefined ? key.trim() : readFileSync(keyFile, 'utf8').trim()
}

/** Makes a key for a run of a move, and revokes those of its runs that were killed. */
function makeHereKey(
  options: ImportCommandOptions,
  move: string,
): { readonly id: string; readonly value: string } {
  return withControlDB(options, ({ db }) => {
    const organization_id = findProject(db, options.project)?.organization_id ?? ''
    const own_label = `Import from another server ${move.slice(0, 8)}`
    const user_id = getOrganizationOwner(db, organization_id)
    for (const { id, label, scoped_projects } of listAllKeys(db)) {
      const is_of_project = scoped_projects?.includes(options.project) === true
      if (label === own_label && is_of_project) revokeKeyById(db, id)
    }
    const { key, value } = createApiKey(
      db,
      {
        user_id,
        label: own_label,
        scopes: ['*'],
        organization_id,
        project_id: options.project,
      },
      new Date(),
    )
    return { id: key.id, value }
  })
}

/** Shows rows, rate and rest of the stage that runs, and the pauses that the other server asks for. */
function progressLines(progress: ProgressBar): Pick<MoveInOptions, 'onWait' | 'onProgress'> {
  let begun = { stage: '', done: 0, ms: 0 }
  let shown = { done: 0, all: 0 }
  return {
    onProgress: (stage, done, all) => {
      const now_ms = performance.now()
      if (begun.stage !== stage) begun = { stage, done, ms: now_ms }
      shown = { done, all }
      const rate = (done - begun.done) / Math.max(1, (now_ms - begun.ms) / 1000)
      const rest_s = rate > 0 && all > done ? (all - done) / rate : 0
      const rest = rest_s === 0 ? '' : `, about ${formatSeconds(rest_s)} left`
      progress.show(done, all, `${stage}: ${done}, ${Math.round(rate)}/s${rest}`)
    },
    onWait: (wait_ms, reason) =>
      progress.show(shown.done, shown.all, `waits ${formatSeconds(wait_ms / 1000)}: ${reason}`),
  }
}

function formatSeconds(seconds: number): string {
  if (seconds < 90) return `${Math.ceil(seconds)} s`
  return seconds < 5400 ? `${Math.ceil(seconds / 60)} min` : `${Math.ceil(seconds / 3600)} h`
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
  requireOwnFolder(data_dir)
  const { startForCommand } = await import('../serve.ts')
  try {
    return await startForCommand(readOwnServerConfig(data_dir))
  } catch (error) {
    if (!(error instanceof FolderInUse)) throw error
    const url = findHolder(data_dir)?.local_url ?? null
    if (url === null) throw error
    return { url, stop: async () => undefined }
  }
}
