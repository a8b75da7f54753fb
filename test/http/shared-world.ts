/**
 * The world of files that need a project and nothing else: those of a process share one, since a server with its query
 * process takes 0.15 s of processor time.
 */
import { createApiKey } from '../../src/projects/keys/api-key.ts'
import { createOrganization } from '../../src/projects/organization.ts'
import { createProject } from '../../src/projects/settings/project.ts'
import { createUser } from '../../src/projects/users/user.ts'
import { removeAtEnd } from '../remove-at-end.ts'
import { openWorld, type World, type WorldProject } from './world.ts'

let opened: Promise<World> | null = null

async function openShared(): Promise<World> {
  const world = await openWorld()
  removeAtEnd(world.data_dir)
  return world
}

/** Makes an organization with one project in the shared world, and its owner with a key. */
export async function joinWorld(): Promise<WorldProject> {
  opened ??= openShared()
  const world = await opened
  const { control } = world.needs
  const now = new Date()
  const { id: user_id } = createUser(
    control,
    { email: 'owner@example.com', first_name: 'Owner' },
    now,
  )
  const { id: organization_id } = createOrganization(control, { name: 'Joined', user_id }, now)
  const project = createProject(control, { organization_id, name: 'Default project' }, now)
  const of_key = { user_id, label: 'Owner', scopes: ['*'], organization_id: null, project_id: null }
  return {
    first: {
      organization_id,
      project_id: project.id,
      api_token: project.api_token,
      personal_api_key: createApiKey(control, of_key, now).value,
    },
    needs: world.needs,
    capture: world.capture,
    send: (path, init) => world.send(path, init),
  }
}
