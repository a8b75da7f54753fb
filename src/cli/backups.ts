/** `backup`, `restore` and `doctor`: the commands that keep data safe. */

import type { Command } from 'commander'
import { takeBackup } from '../backup/backup.ts'
import { findFaults } from '../backup/doctor.ts'
import { restoreBackup } from '../backup/restore.ts'
import { MIB } from '../bytes.ts'
import { readDataDir } from '../config.ts'
import { addStoreOptions, type DataFolderOptions, printResult } from './options.ts'

type BackupCommandOptions = DataFolderOptions & { readonly copy?: true }

/** A warning: the author of a backup may have put their keys and webhooks into it. */
const FOREIGN_KEYS =
  'Users, keys and webhooks are those of the backup: restore none from a source you do not trust.'

/** Adds the commands; `exit.code` is 1 after `doctor` has found something. */
export function addBackupCommands(program: Command, exit: { code: number }): void {
  addStoreOptions(program.command('backup'))
    .argument('<folder>', 'where the backup goes: a folder that is not there yet')
    .option('--copy', 'copy snapshot files even where they could be hard-linked')
    .description(
      'Back up everything, also while a server runs: all that was answered before is in it.',
    )
    .addHelpText('after', '\nExample:\n  $ tidemark backup /mnt/backups/monday')
    .action(async (folder: string, options: BackupCommandOptions) => {
      const data_dir = readDataDir(options.dataDir)
      const is_copied = options.copy === true
      const made = await takeBackup({ data_dir, folder, is_copied }, new Date())
      const size = (made.bytes / MIB).toFixed(1)
      printResult(
        options,
        { ...made, folder },
        `backed up ${data_dir} to ${folder}: ${made.files} files, ${size} MiB, up to event ${made.last_seq}`,
      )
    })

  addStoreOptions(program.command('restore'))
    .argument('<folder>', 'a backup that is complete')
    .description(
      'Put a backup where the data folder was. Stop the server and move its folder away first.',
    )
    .addHelpText('after', `\n${FOREIGN_KEYS}`)
    .action(async (folder: string, options: DataFolderOptions) => {
      const data_dir = readDataDir(options.dataDir)
      const restored = await restoreBackup(folder, data_dir)
      printResult(
        options,
        { ...restored, data_dir },
        `restored ${data_dir} as it was at ${restored.made_at}: ${restored.files} files\n${FOREIGN_KEYS}`,
      )
    })

  addStoreOptions(program.command('doctor'))
    .description(
      'Read everything through and compare it with its checksums. Exits with 1 when something is wrong.',
    )
    .action(async (options: DataFolderOptions) => {
      const { findings, files, events_in_files } = await findFaults(readDataDir(options.dataDir))
      if (findings.length > 0) exit.code = 1
      const lines = findings.map(({ subject, fault }) => `${subject} ${fault}`)
      const sound = `sound: both databases, and ${files} snapshot files with ${events_in_files} events`
      printResult(
        options,
        { is_sound: findings.length === 0, findings, files, events_in_files },
        lines.length > 0 ? lines.join('\n') : sound,
      )
    })
}
