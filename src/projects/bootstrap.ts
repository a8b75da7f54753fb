/** The first start: creates an organization, a project, an owner and a key with all rights; and the owner's setup. */
import { Refusal } from '../errors.ts'
import type { ControlDB } from '../storage/control/control-db.ts'
import { createApiKey } from './keys/api-key.ts'
import {
  createOrganization,
  findMembershipsOf,
  listOrganizations,
  renameOrganization,
} from './organization.ts'
import {
  createProject,
  listProjects,
  PROJECT_NAME_DEFAULT,
  type Project,
} from './settings/project.ts'
import { changeProject } from './settings/project-changes.ts'
import { endLinksOf, getLinkUser, readCode } from './users/login-links.ts'
import { requireOwnAddress } from './users/members.ts'
import { hasPasswords, storePassword } from './users/passwords.ts'
import { changeEmail, ensureOwner, renameUser } from './users/user.ts'

const ORGANIZATION_NAME_DEFAULT = 'Default organization'

/** Keys preset by an unattended install; null generates one. */
type Presets = {
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
      const project = createFirstProject(tx, presets.api_token, now)
      if (project === null) return null
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
        organization_id: project.organization_id,
        project_id: project.id,
        api_token: project.api_token,
        personal_api_key: value,
      }
    },
    { behavior: 'immediate' },
  )
}

/** The owner's entries in the first setup. */
type OwnerSetup = {
  /** As typed. */
  readonly code: string
  readonly email: string
  /** The password's hash. */
  readonly hash: string
  readonly first_name?: string
  readonly organization_name?: string
  /** For projects without an event; the owner's browser knows it. */
  readonly timezone?: string
}

/**
 * Sets the first password, the owner's, by the code that the server printed; creates the first organization and project
 * if they are missing. Returns the owner's id. Refuses a wrong code, and a setup after the first.
 */
export function setUpOwner(db: ControlDB, setup: OwnerSetup, now: Date): number {
  return db.transaction(
    (tx) => {
      const user_id = getOwnerByCode(tx, setup.code, now)
      endLinksOf(tx, user_id)
      createFirstProject(tx, null, now)
      giveOwnerPassword(tx, { ...setup, user_id }, now)
      const { first_name, organization_name, timezone } = setup
      if (first_name !== undefined) renameUser(tx, user_id, { first_name })
      const [organization] = listOrganizations(tx)
      if (organization === undefined) return user_id
      if (organization_name !== undefined) {
        renameOrganization(tx, organization, { user_id, name: organization_name }, now)
      }
      if (timezone !== undefined) {
        for (const { id, ingested_event } of listProjects(tx, organization.id)) {
          if (!ingested_event) changeProject(tx, id, { user_id, sent: { timezone } }, now)
        }
      }
      return user_id
    },
    { behavior: 'immediate' },
  )
}

/** The owner who holds the code. Refuses a wrong one, and any once a user has a password. */
export function getOwnerByCode(db: ControlDB, code: string, now: Date): number {
  if (!hasPasswords(db)) return getLinkUser(db, readCode(code), 'code', now)
  throw new Refusal('permission_denied', 'This server is set up already: log in.')
}

/** Sets the owner's address and password from the settings of an unattended install, while no user has a password. */
export function setOwnerPassword(
  db: ControlDB,
  preset: { readonly email: string; readonly hash: string },
  now: Date,
): void {
  db.transaction(
    (tx) => {
      if (hasPasswords(tx)) return
      createFirstProject(tx, null, now)
      giveOwnerPassword(tx, { ...preset, user_id: ensureOwner(tx, now).id }, now)
    },
    { behavior: 'immediate' },
  )
}

function giveOwnerPassword(
  db: ControlDB,
  owner: { readonly user_id: number; readonly email: string; readonly hash: string },
  now: Date,
): void {
  const user = { id: owner.user_id, email: owner.email.toLowerCase() }
  for (const { organization_id } of findMembershipsOf(db, user.id)) {
    requireOwnAddress(db, organization_id, user)
  }
  changeEmail(db, user.id, user.email)
  storePassword(db, owner, now)
}

/** Creates the first organization and project; null if there is an organization already. */
function createFirstProject(db: ControlDB, api_token: string | null, now: Date): Project | null {
  if (listOrganizations(db).length > 0) return null
  const organization = createOrganization(db, { name: ORGANIZATION_NAME_DEFAULT }, now)
  const draft = { organization_id: organization.id, name: PROJECT_NAME_DEFAULT }
  return createProject(db, api_token === null ? draft : { ...draft, api_token }, now)
}
