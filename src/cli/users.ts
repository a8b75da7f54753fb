/** `user`: the commands about people who log in. */
import { type Command, InvalidArgumentError } from 'commander'
import { readConfig, readDataDir } from '../config.ts'
import { Refusal } from '../errors.ts'
import { findMembershipsOf, listOrganizations } from '../projects/organization.ts'
import { ADMIN, MEMBER, type MemberLevel, OWNER } from '../projects/tables.ts'
import { makeLoginLink, makeOwnerCode } from '../projects/users/login-links.ts'
import { addMember, parseFirstName } from '../projects/users/members.ts'
import { findLoginEmail, findLoginUser } from '../projects/users/passwords.ts'
import {
  createUser,
  findUser,
  findUsersByEmail,
  listUsers,
  type User,
} from '../projects/users/user.ts'
import type { ControlDB } from '../storage/control/control-db.ts'
import { findRunning } from '../storage/process/lock.ts'
import { addStoreOptions, type DataFolderOptions, printResult, withControlDB } from './options.ts'

type NewUserOptions = DataFolderOptions & {
  readonly organization?: string
  readonly level: MemberLevel
  readonly name?: string
}

const LEVELS: Readonly<Record<string, MemberLevel>> = { member: MEMBER, admin: ADMIN, owner: OWNER }

const LINK_HELP = `
Without an address, and while nobody has a password, it prints the link of the first setup.

Example:
  $ tidemark user link ann@example.com`

/** Adds `user list`, `user add` and `user link`. */
export function addUserCommands(program: Command): void {
  const user = program
    .command('user')
    .description('List and add users, and print links that set passwords.')

  addStoreOptions(user.command('list'))
    .description('List all users: whether they have a password, and their number of organizations.')
    .action((options: DataFolderOptions) => {
      const results = withControlDB(options, ({ db }) =>
        listUsers(db).map((one) => shownUser(db, one)),
      )
      const text = results.map(({ id, email, first_name, has_password, organizations }) =>
        [
          String(id).padStart(4),
          (email ?? 'no address').padEnd(30),
          first_name.padEnd(16),
          has_password ? 'password' : 'no password',
          `${organizations} organization${organizations === 1 ? '' : 's'}`,
        ].join('  '),
      )
      printResult(options, { results }, text.join('\n'))
    })

  addStoreOptions(user.command('add'))
    .argument('<email>', 'the address to log in with', parseEmail)
    .option('--name <name>', 'first name; default: the part before the @')
    .option('--organization <id>', 'organization to join; default: the first one')
    .option('--level <level>', 'member, admin or owner', parseLevel, MEMBER)
    .description('Add a user to an organization and print a link that sets a password.')
    .addHelpText('after', '\nExample:\n  $ tidemark user add ann@example.com --level admin')
    .action((email: string, options: NewUserOptions) => {
      const token = withControlDB(options, ({ db }) => addUser(db, email, options))
      printLink(options, email, token)
    })

  addStoreOptions(user.command('link'))
    .argument(
      '[email]',
      'address of the user; if two users have it, the number that "user list" prints',
    )
    .description('Print a link that sets a password: for a first login, or a forgotten password.')
    .addHelpText('after', LINK_HELP)
    .action((email: string | undefined, options: DataFolderOptions) => {
      if (email === undefined) return printSetupLink(options)
      const token = withControlDB(options, ({ db }) =>
        makeLoginLink(db, getUser(db, email).id, new Date()),
      )
      return printLink(options, email, token)
    })
}

function addUser(db: ControlDB, email: string, options: NewUserOptions): string {
  const organization_id = options.organization ?? listOrganizations(db)[0]?.id
  if (!listOrganizations(db).some(({ id }) => id === organization_id) || !organization_id) {
    throw new Refusal('not_found', 'There is no such organization.')
  }
  const first_name = parseFirstName(options.name ?? email.split('@', 1).join('').slice(0, 30))
  const now = new Date()
  return db.transaction(
    (tx) => {
      const user = createUser(tx, { email, first_name }, now)
      addMember(tx, { organization_id, level: options.level }, user, now)
      return makeLoginLink(tx, user.id, now)
    },
    { behavior: 'immediate' },
  )
}

/** The user who logs in with the address, or has it, or has the number. */
function getUser(db: ControlDB, text: string): User {
  const login = findLoginUser(db, text)
  const by_number = /^[1-9]\d{0,14}$/.test(text) ? Number(text) : null
  const one = findUser(db, login ?? by_number ?? 0)
  const all = one === null ? findUsersByEmail(db, text) : [one]
  const [found] = all
  if (found === undefined) throw new Refusal('not_found', `There is no user ${text}.`)
  if (all.length > 1) {
    const ids = all.map(({ id }) => id).join(', ')
    throw new Refusal(
      'invalid_input',
      `Several users have this address. Name one by its number: ${ids}.`,
    )
  }
  if (found.email === null) {
    throw new Refusal('invalid_input', 'This user has no address to log in with.')
  }
  return found
}

function printSetupLink(options: DataFolderOptions): void {
  const code = withControlDB(options, ({ db }) => makeOwnerCode(db, new Date()), 'create')
  if (code === null) {
    throw new Refusal(
      'invalid_input',
      'A user has a password already: add the email of the one who needs a link, as in "tidemark user link ann@example.com".',
    )
  }
  const link = `${serverUrl(options)}/setup#${code}`
  printResult(
    options,
    { link, code },
    `${link}\n\nIt sets the first password, once, within 24 hours.`,
  )
}

function printLink(options: DataFolderOptions, email: string, token: string): void {
  const link = `${serverUrl(options)}/reset#${token}`
  printResult(
    options,
    { email, link },
    `${link}\n\nIt sets the password of ${email}, once, within an hour.`,
  )
}

/** The address of the server on the folder, or the one that it would have. */
function serverUrl({ dataDir }: DataFolderOptions): string {
  const config = readConfig({ data_dir: readDataDir(dataDir) })
  const holder = findRunning(config.data_dir)
  return holder?.url ?? config.public_url ?? `http://${config.host}:${config.port}`
}

function shownUser(db: ControlDB, { id, email, first_name }: User) {
  const organizations = findMembershipsOf(db, id).length
  return { id, email, first_name, has_password: findLoginEmail(db, id) !== null, organizations }
}

function parseEmail(text: string): string {
  if (text.length <= 254 && /^[^\s@]+@[^\s@]+$/.test(text)) return text
  throw new InvalidArgumentError('It is not an email address.')
}

function parseLevel(text: string): MemberLevel {
  const level = Object.hasOwn(LEVELS, text) ? LEVELS[text] : undefined
  if (level !== undefined) return level
  throw new InvalidArgumentError(`It must be one of ${Object.keys(LEVELS).join(', ')}.`)
}
