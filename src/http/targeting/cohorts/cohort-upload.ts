/** Cohorts uploaded with a list of persons: a form with a CSV file, or JSON. */
import type { Static } from 'elysia'
import { CohortBody } from '../../../contract/targeting/cohorts.ts'
import { Refusal } from '../../../errors.ts'
import { type PersonList, readPeopleTable } from '../../../targeting/cohorts/persons-table.ts'
import { resumeWork } from '../../../threads/this-thread.ts'
import type { AppContext } from '../../app-context.ts'
import { readJson } from '../../body.ts'
import { validatorOf } from '../../shape.ts'

const COHORT = validatorOf(CohortBody)

/** The cohort's members, and its persons; null when the body lists none. */
export type UploadedCohort = {
  readonly body: Static<typeof CohortBody>
  readonly named: PersonList | null
}

/** Reads a form or a JSON body. Refuses unreadable forms, and members of the wrong type. */
export async function readCohort(app: AppContext, request: Request): Promise<UploadedCohort> {
  const type = request.headers.get('content-type') ?? ''
  if (!type.startsWith('multipart/form-data')) {
    const body = await readJson(app.bodies, request, COHORT)
    const { _create_static_person_ids: names } = body
    return { body, named: names === undefined ? null : { by: 'id', names } }
  }
  const bytes = await app.bodies.read(request)
  resumeWork()
  const form = await readForm(bytes, type)
  resumeWork()
  const members: Record<string, unknown> = {}
  let named: PersonList | null = null
  for (const [name, value] of form.entries()) {
    if (typeof value !== 'string') named = await readPeopleTable(await value.text())
    else if (name === 'csv') named = await readPeopleTable(value)
    else members[name] = FORM_VALUES.get(name)?.(value) ?? value
  }
  return { body: COHORT.require(members), named }
}

/** Parsers of form fields, which are texts. */
const FORM_VALUES: ReadonlyMap<string, (text: string) => unknown> = new Map([
  ['is_static', isYes],
  ['deleted', isYes],
  ['filters', parseMember],
  ['groups', parseMember],
])

function isYes(text: string): unknown {
  return /^(true|1|on)$/i.test(text)
}

function parseMember(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** The most parts of a form; a cohort has fewer members. */
const PARTS_MAX = 32

async function readForm(bytes: Uint8Array<ArrayBuffer>, type: string) {
  requireFewParts(bytes, type)
  try {
    return await new Response(bytes, { headers: { 'Content-Type': type } }).formData()
  } catch {
    throw new Refusal('parse_error', 'Multipart form parse error.')
  }
}

/** Refuses a form with many parts before it is parsed, which takes 80 µs per part. */
function requireFewParts(bytes: Uint8Array<ArrayBuffer>, type: string): void {
  const [, quoted, plain] = /boundary=(?:"([^"]+)"|([^;\s]+))/i.exec(type) ?? []
  const boundary = Buffer.from(`\n--${quoted ?? plain ?? ''}`)
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  // The body starts with the first part.
  let parts = 1
  for (let at = body.indexOf(boundary); at !== -1; at = body.indexOf(boundary, at + 1)) {
    parts += 1
    // The last boundary ends the form.
    if (parts <= PARTS_MAX + 1) continue
    throw new Refusal('invalid_input', `A form may have ${PARTS_MAX} parts.`)
  }
}
