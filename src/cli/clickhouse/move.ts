/** `clickhouse move` and `clickhouse take`: a project moves to another server. */
import type { Command } from 'commander'
import { requireData } from '../../backup/backup.ts'
import { moveOut, takeIn } from '../../backup/move.ts'
import { readConfig, readDataDir } from '../../config.ts'
import { openLog } from '../../logs.ts'
import {
  addStoreOptions,
  type DataFolderOptions,
  parseId,
  printResult,
  requireOwnFolder,
} from '../options.ts'

type MoveOptions = DataFolderOptions & { readonly project: number; readonly to: string }

const MOVE_HELP = `
Stop the old server first; it starts again without the project, and answers 503 to its senders, who send again. The copy is
one of the whole folder: "take" makes a data folder of it, with the project, organizations, users and keys, or brings the
project with its organization into a data folder that has others, whose server must be stopped: it has its positions in
memory. Delete the copy afterwards.
Events stay in ClickHouse. A command that was cut off is run again.

Examples:
  $ tidemark clickhouse move --project 7 --to /mnt/move-7                  on the old server
  $ tidemark clickhouse take /mnt/move-7 --data-dir /var/lib/tidemark      on the new one
Then start both, and change the table that the configuration of the front is printed from.`

/** Adds both commands to `clickhouse`. */
export function addMoveCommands(clickhouse: Command): void {
  addStoreOptions(clickhouse.command('move'))
    .requiredOption('--project <id>', 'number of the project', parseId)
    .requiredOption('--to <folder>', 'folder for the copy that the other server takes')
    .description(
      'Move a project out of this folder, into a copy that "clickhouse take" makes a server of.',
    )
    .addHelpText('after', MOVE_HELP)
    .action(async (options: MoveOptions) => {
      const { project: project_id, to: folder } = options
      const config = readConfig({ data_dir: options.dataDir })
      const { data_dir } = config
      requireData(data_dir)
      requireOwnFolder(data_dir, 'run the command as that user')
      // Imported here, so that other commands do not load the server's libraries.
      const { withAllShipped } = await import('../../serve/ship-all.ts')
      const secrets = [config.clickhouse_password, config.clickhouse_read_password]
      await withAllShipped(config, openLog('error', secrets), () =>
        moveOut({ data_dir, project_id, folder }, new Date()),
      )
      printResult(
        options,
        { project_id, folder },
        `project ${project_id} has moved to ${folder}: take it on the other server`,
      )
    })

  addStoreOptions(clickhouse.command('take'))
    .argument('<folder>', 'copy that "clickhouse move" has made')
    .description(
      'Bring the copy of a moved project into a new data folder, or into one with other projects.',
    )
    .addHelpText('after', MOVE_HELP)
    .action(async (folder: string, options: DataFolderOptions) => {
      const data_dir = readDataDir(options.dataDir)
      requireOwnFolder(data_dir, 'run the command as that user')
      const project_id = await takeIn(folder, data_dir)
      printResult(
        options,
        { project_id, data_dir },
        `${data_dir} has project ${project_id}: start a server on it`,
      )
    })
}
