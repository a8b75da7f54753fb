/** `project`: the commands about projects. */
import { type Command, InvalidArgumentError } from 'commander'
import { listOrganizations } from '../projects/organization.ts'
import { createProject, listProjects, type Project } from '../projects/settings/project.ts'
import { RETENTION_MONTHS_MAX, setRetention } from '../projects/settings/retention.ts'
import {
  addStoreOptions,
  type DataFolderOptions,
  parseId,
  printResult,
  withControlDB,
} from './options.ts'

type ProjectOptions = DataFolderOptions & { readonly organization: string }

/** Adds `project create`, `project list` and `project retention`. */
export function addProjectCommands(program: Command): void {
  const project = program.command('project').description('Create and list projects.')

  addStoreOptions(project.command('create'))
    .argument('<name>', 'name of the project')
    .requiredOption('--organization <id>', 'organization that the project belongs to')
    .description('Create a project and print its API key, which SDKs send events with.')
    .addHelpText('after', '\nExample:\n  $ tidemark project create --organization ID "Web shop"')
    .action((name: string, options: ProjectOptions) => {
      const organization_id = options.organization
      const made = withControlDB(options, ({ db }) =>
        createProject(db, { organization_id, name }, new Date()),
      )
      printResult(options, publicOf(made), lineOf(made))
    })

  addStoreOptions(project.command('list'))
    .option('--organization <id>', 'organization whose projects to list; default: all of them')
    .description('List projects with their API keys.')
    .action((options: DataFolderOptions & Partial<ProjectOptions>) => {
      const all = withControlDB(options, ({ db }) => {
        const ids = listOrganizations(db).map(({ id }) => id)
        const listed = options.organization === undefined ? ids : [options.organization]
        return listed.flatMap((id) => listProjects(db, id))
      })
      printResult(options, { results: all.map(publicOf) }, all.map(lineOf).join('\n'))
    })

  addStoreOptions(project.command('retention'))
    .argument('<id>', 'number of the project', parseId)
    .argument(
      '<months>',
      'whole months to keep; 0 keeps everything, "default" follows the server',
      parseMonths,
    )
    .description('Set for how many months a project keeps its events. Older months are deleted.')
    .addHelpText('after', '\nExample:\n  $ tidemark project retention 1 18')
    .action((id: number, months: number | null, options: DataFolderOptions) => {
      withControlDB(options, ({ db }) => setRetention(db, id, months))
      printResult(
        options,
        { id, months },
        `project ${id} keeps its events ${toldRetention(months)}`,
      )
    })
}

/** Null for the server's default. */
function parseMonths(text: string): number | null {
  if (text === 'default') return null
  const months = Number(text)
  if (/^\d+$/.test(text) && months <= RETENTION_MONTHS_MAX) return months
  throw new InvalidArgumentError(`It is not a number of months from 0 to ${RETENTION_MONTHS_MAX}.`)
}

function toldRetention(months: number | null): string {
  if (months === null) return 'as long as the server says'
  return months === 0 ? 'for ever' : `for ${months} months`
}

function publicOf({ id, organization_id, name, api_token }: Project) {
  return { id, organization: organization_id, name, api_token }
}

function lineOf({ id, name, api_token }: Project): string {
  return `project ${id}  ${name}\nproject token  ${api_token}`
}
