/** `key`: the commands about personal API keys. */
import type { Command } from 'commander'
import { createApiKey, listAllKeys, revokeKeyById, rollKeyById } from '../projects/keys/api-key.ts'
import { getOrganizationOwner } from '../projects/organization.ts'
import {
  addStoreOptions,
  type DataFolderOptions,
  parseId,
  printResult,
  withControlDB,
} from './options.ts'

type KeyOptions = DataFolderOptions & {
  readonly organization: string
  readonly project?: number
  readonly scope: readonly string[]
  readonly label: string
}

const EXAMPLES = `
Scopes have the form <object>:<read|write>, where write implies read; '*' allows everything.

Examples:
  $ tidemark key create --organization ID --scope '*'
  $ tidemark key create --organization ID --project 1 --scope query:read person:read --json`

/** Adds `key create`. */
export function addKeyCommands(program: Command): void {
  const key = program.command('key').description('Create, list, roll and revoke personal API keys.')
  addStoredKeyCommands(key)

  addStoreOptions(key.command('create'))
    .requiredOption('--organization <id>', 'organization that the key is limited to')
    .option('--project <id>', 'project of that organization that the key is limited to', parseId)
    .requiredOption('--scope <scopes...>', 'a right of the key; may be repeated')
    .option('--label <text>', 'label of the key', 'Command line')
    .description(
      'Create a key for the owner of an organization and print its value, only this once.',
    )
    .addHelpText('after', EXAMPLES)
    .action((options: KeyOptions) => {
      const made = withControlDB(options, ({ db }) =>
        createApiKey(
          db,
          {
            user_id: getOrganizationOwner(db, options.organization),
            label: options.label,
            scopes: options.scope,
            organization_id: options.organization,
            project_id: options.project ?? null,
          },
          new Date(),
        ),
      )
      const { id, label, scopes } = made.key
      const result = {
        id,
        label,
        value: made.value,
        scopes,
        organization: options.organization,
        project: options.project ?? null,
      }
      printResult(
        options,
        result,
        `personal API key  ${made.value}\n\nIt is shown only now: keep it.`,
      )
    })
}

/** Adds the commands about existing keys of any user. */
function addStoredKeyCommands(key: Command): void {
  addStoreOptions(key.command('list'))
    .description('List all keys; their values are stored nowhere.')
    .action((options: DataFolderOptions) => {
      const results = withControlDB(options, ({ db }) => listAllKeys(db))
      const text = results.map(({ id, mask_value, label }) => `${id}  ${mask_value}  ${label}`)
      printResult(options, { results }, text.join('\n'))
    })

  addStoreOptions(key.command('roll'))
    .argument('<id>', 'the key, as "key list" prints it')
    .description(
      'Give a key a new value and print it, only this once; the old one stops working at once.',
    )
    .action((id: string, options: DataFolderOptions) => {
      const value = withControlDB(options, ({ db }) => rollKeyById(db, id, new Date()))
      const text = `personal API key  ${value}\n\nIt is shown only now: keep it.`
      printResult(options, { id, value }, text)
    })

  addStoreOptions(key.command('revoke'))
    .argument('<id>', 'the key, as "key list" prints it')
    .description('Revoke a key; it stops working at once.')
    .action((id: string, options: DataFolderOptions) => {
      withControlDB(options, ({ db }) => revokeKeyById(db, id))
      printResult(options, { id }, `revoked  ${id}`)
    })
}
