/** `clickhouse fill`, `verify` and `status`: a folder whose events go to ClickHouse. */
import type { Command } from 'commander'
import { type Config, readConfig, readDataDir } from '../../config.ts'
import {
  addStoreOptions,
  type DataFolderOptions,
  printResult,
  requireOwnFolder,
} from '../options.ts'
import { openProgress } from '../progress.ts'

export const FOLDER_HELP = `
The address and the users of ClickHouse come from the environment, as for "tidemark serve":
TIDEMARK_CLICKHOUSE_URL, TIDEMARK_CLICKHOUSE_USER, TIDEMARK_CLICKHOUSE_PASSWORD, TIDEMARK_CLICKHOUSE_READ_USER,
TIDEMARK_CLICKHOUSE_READ_PASSWORD, TIDEMARK_CLICKHOUSE_DATABASE, TIDEMARK_CLICKHOUSE_CLUSTER.

To move a folder there: stop the server, "tidemark clickhouse fill", start the server with the same settings.`

/** Adds the commands; `exit.code` is 1 after `verify` has found a difference. */
export function addFolderCommands(family: Command, exit: { code: number }): void {
  const fill = addStoreOptions(family.command('fill'))
  fill
    .description(
      'Send the snapshot files of a folder to ClickHouse, compare, and delete them. Stop the server first. Goes on where it was cut off.',
    )
    .action(async (options: DataFolderOptions) => {
      const config = configOf(options)
      requireOwnFolder(config.data_dir, 'run the command as that user')
      const { fillFromFolder } = await import('../../serve/clickhouse-folder.ts')
      const progress = openProgress()
      const stopping = new AbortController()
      process.once('SIGINT', () => stopping.abort(new Error('stopped')))
      try {
        const { events } = await fillFromFolder(
          config,
          (sent, all) => progress.show(sent, all, `${sent} of ${all} events`),
          stopping.signal,
        )
        printResult(
          options,
          { events },
          `${events} events are in ClickHouse: start the server with TIDEMARK_CLICKHOUSE_URL`,
        )
      } finally {
        progress.end()
      }
    })

  addStoreOptions(family.command('verify'))
    .description('Compare a folder with what ClickHouse has of it: counts, sums, repeated events.')
    .action(async (options: DataFolderOptions) => {
      const { verifyFolder } = await import('../../serve/clickhouse-folder.ts')
      const comparisons = await verifyFolder(configOf(options))
      const lines = comparisons.map(({ what, is_equal, here, there }) =>
        is_equal ? `same    ${what}: ${here}` : `differs ${what}: ${here} here, ${there} there`,
      )
      printResult(options, { comparisons }, lines.join('\n'))
      if (comparisons.some(({ is_equal }) => !is_equal)) exit.code = 1
    })

  addStoreOptions(family.command('status'))
    .description('Print how far a folder is carried to ClickHouse.')
    .action(async (options: DataFolderOptions) => {
      const { readClickHouseStatus } = await import('../../serve/clickhouse-folder.ts')
      const status = await readClickHouseStatus(configOf(options))
      const lines = Object.entries(status).map(([name, value]) => `${name.padEnd(17)} ${value}`)
      printResult(options, status, lines.join('\n'))
    })
}

function configOf(options: DataFolderOptions): Config {
  return { ...readConfig(), data_dir: readDataDir(options.dataDir) }
}
