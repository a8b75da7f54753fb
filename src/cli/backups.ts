/** `backup`, `restore` and `doctor`: the commands that keep data safe. */
import { existsSync } from 'node:fs'
import type { Command } from 'commander'
import { takeBackup } from '../backup/backup.ts'
import { findFaults, isUnserved } from '../backup/doctor.ts'
import { restoreBackup } from '../backup/restore.ts'
import {
  examineStore,
  type KeptBackup,
  keepBackup,
  listBackups,
  restoreKept,
} from '../backup/store/kept-backups.ts'
import { openStore } from '../backup/store/open-store.ts'
import type { BackupStore } from '../backup/store/store.ts'
import { MIB } from '../bytes.ts'
import {
  type BackupConfig,
  ConfigError,
  readBackupConfig,
  readDataDir,
  requireOutside,
} from '../config.ts'
import { examineMachine } from './monitoring/examine-machine.ts'
import type { MachineFinding } from './monitoring/machine-finding.ts'
import {
  addStoreOptions,
  type DataFolderOptions,
  printResult,
  requireOwnFolder,
} from './options.ts'

type BackupCommandOptions = DataFolderOptions & {
  readonly copy?: true
  readonly to?: string
  readonly keep?: string
}

type RestoreOptions = DataFolderOptions & { readonly from?: string; readonly at?: string }

type DoctorOptions = DataFolderOptions & { readonly store?: string }

/** A warning: the author of a backup may have put their keys and webhooks into it. */
const FOREIGN_KEYS =
  'Users, keys and webhooks are those of the backup: restore none from a source you do not trust.'

const DATA_ADVICE =
  '  Stop the server, move the folder away and restore the last backup; what came after it is in the damaged folder.'

const UNSERVED_ADVICE =
  '  Name the folder of a server with --data-dir, mount its disk, or start a server on this one.'

const STORE_ADVICE =
  '  Delete what is damaged from the store: the next backup stores again what the data folder still has.'

const BACKUP_HELP = `
Examples:
  $ tidemark backup /mnt/backups/monday                  one folder with everything
  $ tidemark backup --to s3://acme-backups/tidemark      into a store: only files that it does not have are sent
  $ tidemark backup --to /mnt/backups/store --keep 30d
  $ tidemark backup list --to s3://acme-backups/tidemark

Keys of a bucket come from the environment: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and AWS_ENDPOINT_URL,
or the TIDEMARK_BACKUP_S3_ variables of "tidemark serve --help".`

const RESTORE_HELP = `
Examples:
  $ tidemark restore /mnt/backups/monday
  $ tidemark restore --from s3://acme-backups/tidemark --at 2026-11-20T12:00:00Z

${FOREIGN_KEYS}`

/** Adds the commands; `exit.code` is 1 after `doctor` has found something. */
export function addBackupCommands(program: Command, exit: { code: number }): void {
  addBackupCommand(program)
  addStoreOptions(program.command('restore'))
    .argument('[folder]', 'a backup that is complete')
    .option('--from <store>', 'restore from a store instead: a folder, or s3://bucket/prefix')
    .option('--at <time>', 'the newest backup made then or before, as 2026-11-20T12:00:00Z')
    .description(
      'Put a backup where the data folder was. Stop the server and move its folder away first.',
    )
    .addHelpText('after', RESTORE_HELP)
    .action(async (folder: string | undefined, options: RestoreOptions) => {
      const data_dir = readDataDir(options.dataDir)
      requireOwnFolder(data_dir, 'run the command as that user')
      const restored = await restoreAny(folder, options, data_dir)
      const { made_at, files, passed_by } = restored
      for (const { key, fault } of passed_by) {
        console.error(
          `warning: took the backup of ${made_at}, since the newer ${key} is damaged: ${fault}`,
        )
      }
      printResult(
        options,
        { ...restored, data_dir },
        `restored ${data_dir} as it was at ${made_at}: ${files} files\n${FOREIGN_KEYS}`,
      )
    })

  addDoctorCommand(program, exit)
}

function addBackupCommand(program: Command): void {
  const command = addStoreOptions(program.command('backup'))
    .argument('[folder]', 'folder for the backup, which must not exist yet')
    .option('--copy', 'copy snapshot files even where they could be hard-linked')
    .option('--to <store>', 'a store of backups instead: a folder, or s3://bucket/prefix')
    .option('--keep <number|days>', 'remove older backups from the store: keep 14 of them, or 30d')
    .description(
      'Back up everything, also while a server runs: all that was answered before is in it.',
    )
    .addHelpText('after', BACKUP_HELP)
    .action(async (folder: string | undefined, options: BackupCommandOptions) => {
      if ((folder === undefined) === (options.to === undefined)) {
        throw new ConfigError('backup needs a folder, or --to with a store, and not both')
      }
      if (folder === undefined) await backUpToStore(options)
      else await backUpToFolder(folder, options)
    })

  command
    .command('list')
    .description('List the backups of a store (--to, or TIDEMARK_BACKUP_TO).')
    .action(async () => {
      const options: BackupCommandOptions = command.opts()
      const { store } = openConfigured(options.to)
      const { backups, unreadable } = await listBackups(store)
      const lines = [
        ...backups.map(describeKept),
        ...unreadable.map(({ key, fault }) => `${key}  cannot be read: ${fault}`),
      ]
      const text = lines.length === 0 ? `${store.name} has no backups` : lines.join('\n')
      printResult(options, { backups, unreadable }, text)
    })
}

async function backUpToFolder(folder: string, options: BackupCommandOptions): Promise<void> {
  if (options.keep !== undefined) throw new ConfigError('--keep needs --to')
  const data_dir = readDataDir(options.dataDir)
  const is_copied = options.copy === true
  const made = await takeBackup({ data_dir, folder, is_copied }, new Date())
  printResult(
    options,
    { ...made, folder },
    `backed up ${data_dir} to ${folder}: ${made.files} files, ${printSize(made.bytes)}, up to event ${made.last_seq}`,
  )
}

async function backUpToStore(options: BackupCommandOptions): Promise<void> {
  const data_dir = readDataDir(options.dataDir)
  const { store, config } = openConfigured(options.to, options.keep)
  requireOutside({ ...config, data_dir }, '--to')
  const retention = options.keep === undefined ? null : config.backup_keep
  const made = await keepBackup({ data_dir, store, retention }, new Date())
  const removed =
    made.backups_removed === 0 ? '' : `; ${made.backups_removed} older backups removed`
  printResult(
    options,
    made,
    `backed up ${data_dir} to ${store.name} as of ${made.made_at}: ${made.files_sent} of ${made.files} files sent, ${printSize(made.bytes_sent)}, up to event ${made.last_seq}${removed}`,
  )
}

async function restoreAny(
  folder: string | undefined,
  { from, at }: RestoreOptions,
  data_dir: string,
) {
  if ((folder === undefined) === (from === undefined)) {
    throw new ConfigError('restore needs the folder of a backup, or --from with a store')
  }
  if (folder !== undefined) {
    if (at !== undefined) throw new ConfigError('--at needs --from')
    return { ...(await restoreBackup(folder, data_dir)), passed_by: [] }
  }
  return restoreKept(openConfigured(from).store, at === undefined ? null : readTime(at), data_dir)
}

/** Opens the store that an option or the environment names. */
function openConfigured(
  to: string | undefined,
  keep?: string,
): { readonly store: BackupStore; readonly config: BackupConfig } {
  const config = readBackupConfig({ backup_to: to, backup_keep: keep })
  if (config.backup_to === null) throw new ConfigError('name a store: a folder, or s3://bucket')
  const store = openStore(config.backup_to, {
    endpoint: config.backup_s3_endpoint,
    region: config.backup_s3_region,
    key_id: config.backup_s3_key_id,
    secret: config.backup_s3_secret,
    session_token: config.backup_s3_session_token,
  })
  return { store, config }
}

/** Reads a date or a time; without a zone it is UTC. */
function readTime(text: string): Date {
  const parts =
    /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?)(Z|[+-]\d\d:\d\d)?)?$/.exec(text)
  const day = parts?.[1] ?? ''
  const time = new Date(`${day}T${parts?.[2] ?? '00:00'}${parts?.[3] ?? 'Z'}`)
  if (isDay(day) && !Number.isNaN(time.getTime())) return time
  throw new ConfigError('--at must be a time as 2026-11-20T12:00:00Z')
}

/** Whether a text is a day of the calendar; a `Date` takes 30 February as 1 or 2 March. */
function isDay(text: string): boolean {
  const day = new Date(`${text}T00:00Z`)
  return !Number.isNaN(day.getTime()) && day.toISOString().slice(0, 10) === text
}

function addDoctorCommand(program: Command, exit: { code: number }): void {
  addStoreOptions(program.command('doctor'))
    .option('--store <store>', 'examine every backup of a store instead of the data folder')
    .description(
      'Compare all data with its checksums, check the machine, and say what to do. Exits with 1 when something is wrong.',
    )
    .action(async (options: DoctorOptions) => {
      if (options.store !== undefined) return examineBackups(options, exit)
      const data_dir = readDataDir(options.dataDir)
      const { findings, files, events_in_files } = await findFaults(data_dir)
      const machine = existsSync(data_dir) ? await examineMachine(data_dir, new Date()) : []
      const is_faulty = machine.some(({ severity }) => severity === 'fault')
      if (findings.length > 0 || is_faulty) exit.code = 1
      const sound = `sound: both databases, and ${files} snapshot files with ${events_in_files} events; newer events are in events.db`
      const advice = isUnserved(data_dir) ? UNSERVED_ADVICE : DATA_ADVICE
      const lines = [
        ...(findings.length > 0
          ? findings.map(({ subject, fault }) => `${subject} ${fault}`)
          : [sound]),
        ...(findings.length > 0 ? [advice] : []),
        ...machine.map(describeFinding),
      ]
      printResult(
        options,
        { is_sound: findings.length === 0, findings, files, events_in_files, machine },
        lines.join('\n'),
      )
    })
}

async function examineBackups(options: DoctorOptions, exit: { code: number }): Promise<void> {
  const { findings, backups, files } = await examineStore(openConfigured(options.store).store)
  const is_sound = findings.length === 0
  if (!is_sound) exit.code = 1
  const text = is_sound
    ? `sound: ${backups.length} backups of ${files} files`
    : [...findings.map(({ subject, fault }) => `${subject} ${fault}`), STORE_ADVICE].join('\n')
  printResult(options, { is_sound, findings, backups, files }, text)
}

function describeKept({ made_at, files, bytes, missing }: KeptBackup): string {
  const state = missing === 0 ? 'whole' : `not whole: ${missing} files are missing`
  return `${made_at}  ${files} files, ${printSize(bytes)}  ${state}`
}

function printSize(bytes: number): string {
  return `${(bytes / MIB).toFixed(1)} MiB`
}

function describeFinding({ subject, severity, fault, advice }: MachineFinding): string {
  return `${severity}: ${subject} ${fault}\n  ${advice}`
}
