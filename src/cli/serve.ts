/** `serve` and `up`: the commands that keep running. */
import type { Command } from 'commander'
import { type Config, ConfigError, listUnknownVariables } from '../config.ts'
import { type Log, openLog } from '../logs.ts'
import type { FirstObjects } from '../projects/bootstrap.ts'
import { makeOwnerCode } from '../projects/users/login-links.ts'
import type { Server } from '../serve/listening.ts'
import { loadServer } from '../serve/load-server.ts'
import type { ControlDB } from '../storage/control/control-db.ts'
import { serveEphemerally } from './ephemeral.ts'
import { addSettings, configFromOptions } from './options.ts'

const SERVE_HELP = `
Examples:
  $ tidemark serve
  $ TIDEMARK_HOST=0.0.0.0 TIDEMARK_PORT=80 tidemark serve --data-dir /var/lib/tidemark
  $ tidemark serve --ephemeral        for tests: prints address and keys as one line of JSON

Stops on SIGTERM and SIGINT after it has answered what it has received.`

const EPHEMERAL_HELP =
  'for tests: any free port, a temporary folder, new keys; prints them as one line of JSON; ends with its standard input'

const UP_HELP = `
It prints the address to open. While nobody has a password, that is a link which sets the owner's, once. On an empty
data folder it makes an organization, a project and a personal API key with scope "*", and prints the keys this once.`

/** Adds the commands that keep running; `exit.code` gets the exit code of the process. */
export function addServeCommands(program: Command, exit: { code: number }): void {
  const serveCommand = program.command('serve').description('Run the server.')
  addSettings(serveCommand)
    .option('--ephemeral', EPHEMERAL_HELP)
    .addHelpText('after', SERVE_HELP)
    .action(async () => {
      const config = configFromOptions(serveCommand)
      const given: GivenOptions = serveCommand.opts()
      exit.code =
        given.ephemeral === true
          ? await serveEphemerally(ephemeralConfig(config, given), openServerLog)
          : await keepServing(config, printSetup)
    })

  const upCommand = program
    .command('up')
    .description('Run the server; on an empty data folder, create a project and a key first.')
  addSettings(upCommand)
    .addHelpText('after', UP_HELP)
    .action(async () => {
      const config = configFromOptions(upCommand)
      // An edge has no keys and users: those are its home's.
      const is_edge = config.forward_to !== null
      const onListening = (server: Server) => {
        if (!is_edge) welcome(server, config)
      }
      exit.code = await keepServing(config, onListening, true)
    })
}

/** The flags that an ephemeral server has its own defaults for. */
type GivenOptions = {
  readonly ephemeral?: true
  readonly dataDir?: string
  readonly logLevel?: string
  readonly port?: string
}

/** Environment variables for the port, certificates by ACME and the log are meant for another server: only flags count. */
function ephemeralConfig(config: Config, { dataDir, logLevel, port }: GivenOptions): Config {
  if (dataDir !== undefined) throw new ConfigError('--ephemeral makes its own --data-dir')
  return {
    ...config,
    acme_domains: [],
    port: port === undefined ? 0 : config.port,
    log_level: logLevel === undefined ? 'error' : config.log_level,
  }
}

async function keepServing(
  config: Config,
  onListening: (server: Server) => void,
  makes_first_things = false,
): Promise<number> {
  const { serve, data_worker } = await loadServer(config)
  return serve(config, openServerLog(config), onListening, { data_worker, makes_first_things })
}

function openServerLog(config: Config): Log {
  const secrets = [
    config.bootstrap_api_token,
    config.bootstrap_personal_api_key,
    config.bootstrap_owner_password,
    config.backup_s3_secret,
    config.backup_s3_session_token,
    config.forward_key,
    config.replica_key,
    config.clickhouse_password,
    config.clickhouse_read_password,
  ]
  const log = openLog(config.log_level, secrets)
  for (const name of listUnknownVariables()) log.warn({ name }, 'no such setting')
  return log
}

/** Prints where to open the interface: on the first start of a folder with the new keys. */
function welcome({ url, control: { db }, first }: Server, config: Config): void {
  const setup = setupText(db, url) ?? LATER_TEXT
  const keys = first === null ? [] : [firstText(url, first, config.bootstrap_personal_api_key)]
  console.log([`Tidemark serves on ${url}`, setup, ...keys].join('\n\n'))
}

/** Prints the address of the first setup while no user has a password; otherwise nothing. */
function printSetup({ url, control: { db } }: Server): void {
  const setup = setupText(db, url)
  if (setup !== null) console.log(`Tidemark serves on ${url}\n\n${setup}\n`)
}

const LATER_TEXT = `  Open it and log in. For a forgotten password:  tidemark user link EMAIL
`

function setupText(db: ControlDB, url: string): string | null {
  const code = makeOwnerCode(db, new Date())
  if (code === null) return null
  return `  Open this to set your password – it works once, for 24 hours:

  ${url}/setup#${code}`
}

/** A preset personal key is its operator's secret already, and stays out of logs. */
function firstText(url: string, first: FirstObjects, preset: string | null): string {
  const { api_token, personal_api_key } = first
  const event = { api_key: api_token, event: 'first event', distinct_id: 'me' }
  const personal =
    preset === null
      ? `${personal_api_key}   for the API, secret: shown only now`
      : 'as TIDEMARK_BOOTSTRAP_PERSONAL_API_KEY says   for the API, secret'
  return `  project token     ${api_token}   for SDKs, public
  personal API key  ${personal}

  A first event:

  curl -X POST '${url}/capture/' -H 'Content-Type: application/json' -d '${JSON.stringify(event)}'
`
}
