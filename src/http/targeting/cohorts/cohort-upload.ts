/** Cohorts uploaded with a list of persons: a form with a CSV file, or JSON. */
import type { Static } from 'elysia'
import { CohortBody } from '../../../contract/targeting/cohorts.ts'
import { type PersonList, readPeopleTable } from '../../../targeting/cohorts/persons-table.ts'
import { resumeWork } from '../../../threads/this-thread.ts'
import type { AppContext } from '../../app-context.ts'
import { readBody } from '../../bodies/body.ts'
import { isFormType, readForm } from '../../bodies/form.ts'
import { validatorOf } from '../../bodies/shape.ts'
import { readFields } from '../../bodies/text-values.ts'
import type { ClientSocket } from '../../endpoint.ts'

const COHORT = validatorOf(CohortBody)

/** A cohort, and the persons that its body lists. */
type UploadedCohort = {
  readonly body: Static<typeof CohortBody>
  readonly named: readonly PersonList[]
}

/** Reads a form or a JSON body. Refuses unreadable forms, and members of the wrong type. */
export async function readCohort(
  app: AppContext,
  { request, socket }: { readonly request: Request; readonly socket: ClientSocket },
): Promise<UploadedCohort> {
  const type = request.headers.get('content-type') ?? ''
  if (!isFormType(type)) {
    const body = await readBody(app.bodies, request, COHORT, socket)
    return { body, named: personsIn(body) }
  }
  const bytes = await app.bodies.read(request, undefined, socket)
  resumeWork()
  const form = await readForm(bytes, type)
  resumeWork()
  const fields: (readonly [name: string, text: string])[] = []
  const tables: PersonList[] = []
  for (const [name, value] of form) {
    if (typeof value !== 'string') tables.push(await readPeopleTable(await value.text()))
    else if (name === 'csv') tables.push(await readPeopleTable(value))
    else fields.push([name, value])
  }
  const body = COHORT.require(readFields(CohortBody, fields))
  return { body, named: [...tables, ...personsIn(body)] }
}

function personsIn({ _create_static_person_ids: names }: UploadedCohort['body']): PersonList[] {
  return names === undefined ? [] : [{ by: 'id', names }]
}
