/** Rows that every request reads: kept while control.db is as it was, and never older than the commits before this turn. */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eq } from 'drizzle-orm'
import { createLookups } from '../../src/projects/lookups.ts'
import { createOrganization } from '../../src/projects/organization.ts'
import { createProject } from '../../src/projects/settings/project.ts'
import { projects } from '../../src/projects/tables.ts'
import { createUser } from '../../src/projects/users/user.ts'
import { type Control, openControl } from '../../src/storage/control/control-db.ts'

let folder: string
let control: Control
let id: number
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidemark-lookups-'))
  control = openControl(folder)
  const now = new Date()
  const user = createUser(control.db, { email: 'a@x.example', first_name: 'a' }, now)
  const organization = createOrganization(control.db, { name: 'o', user_id: user.id }, now)
  id = createProject(control.db, { organization_id: organization.id, name: 'first' }, now).id
})
afterEach(() => {
  control.close()
  rmSync(folder, { recursive: true, force: true })
})

const find = () => createLookups(control.db).project.get({ id })
const rename = ({ db }: Pick<Control, 'db'>, name: string): void => {
  db.update(projects).set({ name }).where(eq(projects.id, id)).run()
}

test('a row is read once while nothing is written', () => {
  expect(find()?.name).toBe('first')
  expect(find()).toBe(find())
})

test('what this connection writes is found at once', () => {
  expect(find()?.name).toBe('first')
  rename(control, 'second')
  expect(find()?.name).toBe('second')
  control.db.delete(projects).where(eq(projects.id, id)).run()
  expect(find()).toBeUndefined()
})

test('what another connection commits is found in the next turn of the event loop', async () => {
  expect(find()?.name).toBe('first')
  const other = openControl(folder)
  rename(other, 'second')
  await new Promise((resolve) => setImmediate(resolve))
  expect(find()?.name).toBe('second')
  other.close()
})

test('what a transaction writes is not kept when it is rolled back', () => {
  expect(find()?.name).toBe('first')
  const fail = () =>
    control.db.transaction((transaction) => {
      rename({ db: transaction }, 'second')
      expect(find()?.name).toBe('second')
      throw new Error('rolled back')
    })
  expect(fail).toThrow('rolled back')
  expect(find()?.name).toBe('first')
})
