/** `key`: the commands about personal API keys. */
import { type Command, InvalidArgumentError } from 'commander'
import { createApiKey } from '../projects/api-key.ts'
import { getOrganizationOwner } from '../projects/organization.ts'
import { addStoreOptions, printResult, type StoreOptions, withControl } from './options.ts'

type KeyOptions = StoreOptions & {
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
  const key = program.command('key').description('Make personal API keys.')

  addStoreOptions(key.command('create'))
    .requiredOption('--organization <id>', 'organization that the key is limited to')
    .option('--project <id>', 'project of that organization that the key is limited to', parseId)
    .requiredOption('--scope <scopes...>', 'what the key may do; give as many as needed')
    .option('--label <text>', 'what the key is for', 'Command line')
    .description('Make a key for the owner of an organization and print its value, this once.')
    .addHelpText('after', EXAMPLES)
    .action((options: KeyOptions) => {
      const made = withControl(options, ({ db }) =>
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

function parseId(text: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It is not the number of a project.')
}
