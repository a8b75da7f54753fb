/** `serve` and `up`: the commands that keep running. */
import type { Command } from 'commander'
import { type Config, listUnknownVariables } from '../config.ts'
import { type Log, openLog } from '../logs.ts'
import { createFirstThings, type FirstObjects } from '../projects/bootstrap.ts'
import { listOrganizations } from '../projects/organization.ts'
import type { Server } from '../serve.ts'
import { addSettings, configFromOptions } from './options.ts'

const SERVE_HELP = `
Examples:
  $ tidemark serve
  $ TIDEMARK_HOST=0.0.0.0 TIDEMARK_PORT=80 tidemark serve --data-dir /var/lib/tidemark

Stops on SIGTERM and SIGINT after it has answered what it has received.`

const UP_HELP = `
On an empty data folder it makes an organization, a project and a personal API key with scope "*", and prints
them with two commands to try. They are printed this once: the key is stored only as a hash.`

/** Adds the commands that keep running; `exit.code` gets what the process should exit with. */
export function addServeCommands(program: Command, exit: { code: number }): void {
  const serveCommand = program.command('serve').description('Serve until told to stop.')
  addSettings(serveCommand)
    .addHelpText('after', SERVE_HELP)
    .action(async () => {
      exit.code = await keepServing(configFromOptions(serveCommand), () => undefined)
    })

  const upCommand = program
    .command('up')
    .description('Serve, and on an empty data folder first make a project and a key.')
  addSettings(upCommand)
    .addHelpText('after', UP_HELP)
    .action(async () => {
      const config = configFromOptions(upCommand)
      exit.code = await keepServing(config, (server) => welcome(server, config))
    })
}

async function keepServing(config: Config, onListening: (server: Server) => void): Promise<number> {
  // Imported here, so that other commands do not load the server's libraries.
  const { serve } = await import('../serve.ts')
  return serve(config, openServerLog(config), onListening)
}

function openServerLog(config: Config): Log {
  const secrets = [config.bootstrap_api_token, config.bootstrap_personal_api_key]
  const log = openLog(config.log_level, secrets)
  for (const name of listUnknownVariables()) log.warn({ name }, 'no such setting')
  return log
}

function welcome(server: Server, config: Config): void {
  const { db } = server.control
  const first = createFirstThings(
    db,
    { api_token: config.bootstrap_api_token, personal_api_key: config.bootstrap_personal_api_key },
    new Date(),
  )
  const text =
    first === null
      ? laterText(server.url, listOrganizations(db)[0]?.id ?? 'ID')
      : firstText(server.url, first)
  console.log(text)
}

function firstText(url: string, first: FirstObjects): string {
  const event = { api_key: first.api_token, event: 'first event', distinct_id: 'me' }
  const query = {
    query: {
      kind: 'HogQLQuery',
      query: 'SELECT event, count() FROM events GROUP BY event',
    },
    // Trying it twice, with an event in between, should show the event and not the cache.
    refresh: 'force_blocking',
  }
  return `Tidemark serves on ${url}

  organization      ${first.organization_id}
  project           ${first.project_id}
  project API key   ${first.api_token}
  personal API key  ${first.personal_api_key}

The personal API key is shown only now: keep it.

Send a first event:

  curl -X POST '${url}/capture/' -H 'Content-Type: application/json' -d '${JSON.stringify(event)}'

Ask a first question:

  curl -X POST '${url}/api/environments/${first.project_id}/query/' -H 'Authorization: Bearer ${first.personal_api_key}' -H 'Content-Type: application/json' -d '${JSON.stringify(query)}'
`
}

function laterText(url: string, organization_id: string): string {
  return `Tidemark serves on ${url}

This folder has its keys: they were shown, or given, at its first start. To make a new one:

  tidemark key create --organization ${organization_id} --scope '*'
`
}
