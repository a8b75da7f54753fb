/** The first start on an empty data folder: one organization, one project, one owner with a key for everything. */
import type { ControlDB } from '../storage/control/control-db.ts'
import { createApiKey } from './api-key.ts'
import { createOrganization, listOrganizations } from './organization.ts'
import { createProject, PROJECT_NAME_DEFAULT } from './project.ts'
import { ensureOwner } from './user.ts'

const ORGANIZATION_NAME_DEFAULT = 'Default organization'

/** Keys that an unattended install has chosen; null for a new one. */
export type Presets = {
  readonly api_token: string | null
  readonly personal_api_key: string | null
}

/** What the first start made, with the key's value, which is told only here. */
export type FirstObjects = {
  readonly organization_id: string
  readonly project_id: number
  readonly api_token: string
  readonly personal_api_key: string
}

/** Creates the first things in one transaction; null when there is an organization already. */
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
