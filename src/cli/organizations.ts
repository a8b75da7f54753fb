/** `organization`: the commands about organizations. */
import type { Command } from 'commander'
import { createOrganization, listOrganizations } from '../projects/organization.ts'
import { addStoreOptions, type DataFolderOptions, printResult, withControlDB } from './options.ts'

/** Adds `organization create` and `organization list`. */
export function addOrganizationCommands(program: Command): void {
  const organization = program.command('organization').description('Create and list organizations.')

  addStoreOptions(organization.command('create'))
    .argument('<name>', 'name of the organization')
    .description('Create an organization; the first one also creates its owner.')
    .addHelpText('after', '\nExample:\n  $ tidemark organization create "Acme" --json')
    .action((name: string, options: DataFolderOptions) => {
      const made = withControlDB(
        options,
        ({ db }) => createOrganization(db, { name }, new Date()),
        'create',
      )
      printResult(
        options,
        { id: made.id, name: made.name },
        `organization ${made.id}  ${made.name}`,
      )
    })

  addStoreOptions(organization.command('list'))
    .description('List all organizations.')
    .action((options: DataFolderOptions) => {
      const all = withControlDB(options, ({ db }) => listOrganizations(db))
      const results = all.map(({ id, name }) => ({ id, name }))
      const text = results.map(({ id, name }) => `${id}  ${name}`).join('\n')
      printResult(options, { results }, text)
    })
}
