/** Options that several commands share, and the data folder of a command. */
import { existsSync, lstatSync } from 'node:fs'
import { join } from 'node:path'
import { type Command, InvalidArgumentError, Option } from 'commander'
import {
  type Config,
  ConfigError,
  type Flags,
  readConfig,
  readDataDir,
  SETTINGS,
} from '../config.ts'
import { type Control, openControl } from '../storage/control/control-db.ts'
import { requireComplete } from '../storage/process/incomplete-marker.ts'
import { findRunning } from '../storage/process/lock.ts'

/** The options of every command that reads or changes stored data. */
export type DataFolderOptions = { readonly json?: true; readonly dataDir?: string }

/** Thrown for a data folder without a control.db. */
class NoData extends Error {
  override readonly name = 'NoData'
}

/** Gives a command every setting of the server as a flag. */
export function addSettings(command: Command): Command {
  for (const { option } of settingFlags()) command.addOption(option)
  return command.addHelpText('after', () => {
    const hidden = SETTINGS.filter((setting) => setting.flag === null)
    const lines = hidden.map(({ env, help }) => `  ${env}\n      ${help}`)
    return `\nEnvironment only:\n${lines.join('\n')}`
  })
}

/** Reads the settings of a command that has them all as flags. Throws a `ConfigError` naming every wrong one. */
export function configFromOptions(command: Command): Config {
  const given: Readonly<Record<string, string | undefined>> = command.opts()
  const flags: Record<string, string | undefined> = {}
  for (const { key, option } of settingFlags()) flags[key] = given[option.attributeName()]
  return readConfig(flags satisfies Flags)
}

/** Gives a command the options of all commands that read or change stored data. */
export function addStoreOptions(command: Command): Command {
  return command
    .option('--json', 'print one JSON object instead of text')
    .option('--data-dir <folder>', 'folder that holds everything (env TIDEMARK_DATA_DIR)')
}

/**
 * Reads the settings of a server that a command runs for itself. Its address is this machine's alone: the public one may
 * lead to another server, and a certificate is not ordered for a moment.
 */
export function readOwnServerConfig(data_dir: string): Config {
  const own = { public_url: '', base_path: '', tls_cert: '', tls_key: '', acme_domains: '' }
  return readConfig({ ...own, data_dir, host: '127.0.0.1', port: '0' })
}

const BESIDE_SERVER = 'start the server first, or run the command as that user'

/**
 * Refuses root on the stopped folder of another user, who could neither read nor remove what root leaves in it. Called
 * before a command makes lasting files; a running server makes its own.
 */
export function requireOwnFolder(
  data_dir: string,
  advice: 'run the command as that user' | typeof BESIDE_SERVER = BESIDE_SERVER,
): void {
  const control = lstatSync(join(data_dir, 'control.db'), { throwIfNoEntry: false })
  const owner = (control ?? lstatSync(data_dir, { throwIfNoEntry: false }))?.uid ?? 0
  if (process.getuid?.() !== 0 || owner === 0 || findRunning(data_dir) !== null) return
  throw new ConfigError(
    `${data_dir} belongs to the user with the id ${owner}, who could not read what root leaves in it: ${advice}`,
  )
}

/** Opens control.db for one piece of work, whether or not a server runs on the same folder. */
export function withControlDB<Result>(
  options: DataFolderOptions,
  work: (control: Control) => Result,
  missing: 'create' | 'refuse' = 'refuse',
): Result {
  const data_dir = readDataDir(options.dataDir)
  requireComplete(data_dir)
  if (!existsSync(join(data_dir, 'control.db'))) {
    if (missing === 'refuse') {
      throw new NoData(`${data_dir} holds no Tidemark data: name another folder with --data-dir`)
    }
    requireOwnFolder(data_dir)
  }
  const control = openControl(data_dir)
  try {
    return work(control)
  } finally {
    control.close()
  }
}

/**
 * Prints the result of a command: text, or one line of JSON with `--json`. Names in it come from callers of the API: their
 * control characters could write anywhere on the terminal.
 */
export function printResult(options: DataFolderOptions, result: object, text: string): void {
  console.log(
    options.json === true ? JSON.stringify(result) : text.replaceAll(/[^\P{Cc}\n]/gu, ' '),
  )
}

/** Parses a project id. */
export function parseId(text: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It is not the number of a project.')
}

function settingFlags(): readonly { key: string; option: Option }[] {
  return SETTINGS.flatMap((setting) => {
    if (setting.flag === null) return []
    const fallback = setting.fallback === '' ? '' : `; default ${setting.fallback}`
    const help = `${setting.help} (env ${setting.env}${fallback})`
    return [{ key: setting.key, option: new Option(setting.flag, help) }]
  })
}
