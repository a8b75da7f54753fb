/** The first start on an empty data folder: creates an organization, a project, an owner and a key with all rights. */
import type { ControlDB } from '../storage/control/control-db.ts'
import { createApiKey } from './api-key.ts'
import { createOrganization, listOrganizations } from './organization.ts'
import { createProject, PROJECT_NAME_DEFAULT } from './project.ts'
import { ensureOwner } from './user.ts'

const ORGANIZATION_NAME_DEFAULT = 'Default organization'

/** Keys preset by an unattended install; null generates one. */
export type Presets = {
  readonly api_token: string | null
  readonly personal_api_key: string | null
}

/** The objects that the first start created, with the key's value, which is shown only here. */
export type FirstObjects = {
  readonly organization_id: string
  readonly project_id: number
  readonly api_token: string
  readonly personal_api_key: string
}

/** Creates them in one transaction; null if there is an organization already. */
export function createFirstThings(db: ControlDB, presets: Presets, now: Date): FirstObjects | null {
  return db.transaction(
    (tx) => {
      if (listOrganizations(tx).length > 0) return null
      const organization = createOrganization(tx, { name: ORGANIZATION_NAME_DEFAULT }, now)
      const project = createProject(
        tx,
        {
          organization_id: organization.id,
          name: PROJECT_NAME_DEFAULT,
          ...(presets.api_token === null ? {} : { api_token: presets.api_token }),
        },
        now,
      )
      const { value } = createApiKey(
        tx,
        {
          user_id: ensureOwner(tx, now).id,
          label: 'Owner',
          scopes: ['*'],
          organization_id: null,
          project_id: null,
          ...(presets.personal_api_key === null ? {} : { value: presets.personal_api_key }),
        },
        now,
      )
      return {
        organization_id: organization.id,
        project_id: project.id,
        api_token: project.api_token,
        personal_api_key: value,
      }
    },
    { behavior: 'immediate' },
  )
}
