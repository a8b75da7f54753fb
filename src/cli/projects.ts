/** `project`: the commands about projects. */
import type { Command } from 'commander'
import { createProject, listProjects, type Project } from '../projects/project.ts'
import { addStoreOptions, printResult, type StoreOptions, withControl } from './options.ts'

type ProjectOptions = StoreOptions & { readonly organization: string }

/** Adds `project create` and `project list`. */
export function addProjectCommands(program: Command): void {
  const project = program.command('project').description('Make and list projects.')

  addStoreOptions(project.command('create'))
    .argument('<name>', 'what the project is called')
    .requiredOption('--organization <id>', 'organization that the project belongs to')
    .description('Make a project and print its API key, which SDKs send events with.')
    .addHelpText('after', '\nExample:\n  $ tidemark project create --organization ID "Web shop"')
    .action((name: string, options: ProjectOptions) => {
      const organization_id = options.organization
      const made = withControl(options, ({ db }) =>
        createProject(db, { organization_id, name }, new Date()),
      )
      printResult(options, publicOf(made), lineOf(made))
    })

  addStoreOptions(project.command('list'))
    .requiredOption('--organization <id>', 'organization whose projects to list')
    .description("List an organization's projects.")
    .action((options: ProjectOptions) => {
      const all = withControl(options, ({ db }) => listProjects(db, options.organization))
      printResult(options, { results: all.map(publicOf) }, all.map(lineOf).join('\n'))
    })
}

function publicOf({ id, organization_id, name, api_token }: Project) {
  return { id, organization: organization_id, name, api_token }
}

function lineOf({ id, name, api_token }: Project): string {
  return `project ${id}  ${name}\nproject API key  ${api_token}`
}
