/** `clickhouse`: commands for servers whose events are in ClickHouse. */
import { type Command, InvalidArgumentError, Option } from 'commander'
import { addFolderCommands, FOLDER_HELP } from './folder-commands.ts'
import { addMoveCommands } from './move.ts'
import { PROXIES } from './proxy-configs.ts'
import { readRouteTable } from './route-table.ts'

type RouteOptions = {
  readonly table: string
  readonly for: keyof typeof PROXIES
  readonly site: string
}

const ROUTES_HELP = `
The table says which server ("home") has which project:
  {
    "homes": { "rome": "http://10.0.0.1:8000", "oslo": "http://10.0.0.2:8000" },
    "projects": [
      { "id": 1, "token": "phc_…", "home": "rome" },
      { "id": 1000001, "token": "phc_…", "home": "oslo" }
    ],
    "default": "rome"
  }
"default" gets requests that name no project; without it they are refused. SDKs get https://SITE/TOKEN as their
host or api_host. Requests with a project's id in their path, or its token in path, query or Authorization, need no more.

Examples:
  $ tidemark clickhouse routes --table homes.json --for nginx > /etc/nginx/conf.d/tidemark.conf
  $ tidemark clickhouse routes --table homes.json --for caddy --site analytics.example.com > Caddyfile`

/** Adds the commands; `exit.code` is 1 after `verify` has found a difference. */
export function addClickHouseCommands(program: Command, exit: { code: number }): void {
  const clickhouse = program
    .command('clickhouse')
    .description('Serve events that are kept in ClickHouse.')
    .addHelpText('after', FOLDER_HELP)
  addFolderCommands(clickhouse, exit)

  clickhouse
    .command('routes')
    .requiredOption('--table <file>', 'JSON file with the home of each project')
    .addOption(
      new Option('--for <proxy>', 'the proxy that the configuration is for')
        .choices(Object.keys(PROXIES))
        .makeOptionMandatory(),
    )
    .option('--site <name>', 'host name of the front', readSite, 'analytics.example.com')
    .description(
      'Print the configuration of a proxy that sends each request to the home of its project.',
    )
    .addHelpText('after', ROUTES_HELP)
    .action(async ({ table, for: proxy, site }: RouteOptions) => {
      await Bun.write(Bun.stdout, PROXIES[proxy](readRouteTable(table), site))
    })

  addMoveCommands(clickhouse)
}

function readSite(text: string): string {
  if (/^[A-Za-z0-9.-]{1,253}$/.test(text)) return text
  throw new InvalidArgumentError('It is not the name of a host.')
}
