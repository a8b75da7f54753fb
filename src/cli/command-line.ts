/** Runs a command line, and prints errors. */
import { Command, CommanderError } from 'commander'
import { ConfigError } from '../config.ts'
import { errorMessage, findErrorCode } from '../error-message.ts'
import { Refusal } from '../errors.ts'
import { DATABASE_DAMAGED, isUnopened } from '../storage/sqlite/sqlite.ts'

/** Adds a family of commands. A command that fails without an error sets `exit.code`. */
export type AddCommands = (program: Command, exit: { code: number }) => void

const EXIT_FAILED = 1
const EXIT_MISUSED = 2

const UNOPENED =
  'this user may not write in the data folder, its disk is read-only, or no file handle is left'

const DISK_FULL =
  'make room on the disk of the data folder, or of the files that this command writes, and start again'
const DISK_FULL_CODES: ReadonlySet<string | null> = new Set([
  'ENOSPC',
  'SQLITE_FULL',
  'SQLITE_IOERR_SHMSIZE',
])

const DAMAGE_CODES: ReadonlySet<string | null> = new Set(['SQLITE_CORRUPT', 'SQLITE_NOTADB'])

const AFTER_HELP = `
Examples:
  $ tidemark up                                   first start: makes a project, prints the address to open, serves
  $ tidemark serve --port 9000 --data-dir /var/lib/tidemark
  $ tidemark organization create "Acme"
  $ tidemark key create --organization ID --scope query:read
  $ tidemark user link ann@example.com            when a password was forgotten

Every setting of the server is an environment variable too: see "tidemark serve --help".`

/** Runs one command line (without the program's own name) of some families; resolves with the exit code. */
export async function runCommandLine(
  args: readonly string[],
  families: readonly AddCommands[],
): Promise<number> {
  const exit = { code: 0 }
  const program = new Command('tidemark')
    .description('Product analytics in one executable.')
    .addHelpText('after', AFTER_HELP)
    .showHelpAfterError('(add --help for what there is)')
    .exitOverride()
  for (const add of families) add(program, exit)
  try {
    await program.parseAsync(args, { from: 'user' })
    return exit.code
  } catch (error) {
    return printFault(error)
  }
}

/** Prints an error; the exit code is 2 for misuse, 1 for failure. */
function printFault(error: unknown): number {
  // Commander has already printed its message, or the requested help.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_MISUSED
  // `tidemark … | head` has closed the pipe: the rest is not wanted.
  const code = findErrorCode(error)
  if (code === 'EPIPE') return EXIT_FAILED
  if (error instanceof ConfigError) return print(error.message, EXIT_MISUSED)
  if (error instanceof Refusal) {
    const field = error.attr === null ? '' : `${error.attr}: `
    return print(`${field}${error.detail}`, EXIT_FAILED)
  }
  const message = errorMessage(error)
  if (DISK_FULL_CODES.has(code)) return print(`${message}: ${DISK_FULL}`, EXIT_FAILED)
  if (DAMAGE_CODES.has(code)) return print(`${message}: ${DATABASE_DAMAGED}`, EXIT_FAILED)
  return print(isUnopened(error) ? `${message}: ${UNOPENED}` : message, EXIT_FAILED)
}

function print(message: string, exit_code: number): number {
  for (const line of message.split('\n')) console.error(`error: ${line}`)
  return exit_code
}
