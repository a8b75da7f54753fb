/**
 * Validates JSON against a schema, and phrases the first fault in the words that clients of the interface
 * expect.
 */
import { getSchemaValidator, type Static, type TSchema } from 'elysia'
import { type ErrorCode, Refusal } from '../../errors.ts'

/** A schema with its compiled check. */
export type Validator<Schema extends TSchema> = {
  readonly schema: Schema
  /** Returns the value with its type. Refuses an invalid one, through `refuse` if it is given. */
  readonly require: (value: unknown, refuse?: (fault: Fault) => Refusal) => Static<Schema>
  /** JSON bodies that passed lately, by their text. Requests share them, so they are frozen. */
  readonly recent?: Map<string, Static<Schema>>
}

/** The first fault of a value. */
export type Fault = {
  /** Path to the field; empty for the whole value. */
  readonly path: readonly string[]
  readonly code: ErrorCode
  readonly detail: string
}

/** One fault as the schema checker reports it. */
type SchemaFault = {
  readonly schema: TSchema
  readonly path: string
  readonly value: unknown
  readonly message: string
  /** The faults for each alternative of a union. */
  readonly errors: readonly { First(): SchemaFault | undefined }[]
}

const TYPE_DETAILS: Readonly<Record<string, string>> = {
  array: 'Expected a list of items.',
  boolean: 'Must be a valid boolean.',
  number: 'A valid number is required.',
  object: 'Expected an object.',
  string: 'Not a valid string.',
}

/**
 * Creates a validator; the schema is compiled on first use. `refuse` turns a fault into a refusal; by default
 * one that names the field. For whole numbers write `t.Number({ multipleOf: 1 })`: Elysia's `t.Integer` accepts
 * the text "3", which JSON bodies must not.
 */
export function validatorOf<Schema extends TSchema>(
  schema: Schema,
  refuse: (fault: Fault) => Refusal = refuseField,
): Validator<Schema> {
  const compile = () => getSchemaValidator<TSchema>(schema, { dynamic: false })
  let compiled: ReturnType<typeof compile> | null = null
  return {
    schema,
    require(value, reword = refuse) {
      compiled ??= compile()
      if (compiled.Check(value)) return value
      const finding = compiled.Errors(value).First()
      throw reword(finding === undefined ? unknownFault() : faultOf(innermost(finding)))
    },
  }
}

/** Makes a validator that keeps the bodies which passed lately: a repeated body is neither parsed nor checked again. */
export function keepingRecent<Schema extends TSchema>(
  validator: Validator<Schema>,
): Validator<Schema> {
  return { ...validator, recent: new Map() }
}

/** The default refusal: `attr` is the field's path, joined by `__`. */
function refuseField({ path, code, detail }: Fault): Refusal {
  return new Refusal(code, detail, { attr: path.length === 0 ? null : path.join('__') })
}

/** Descends into the one alternative of a union that the value is meant to be, and returns its first fault. */
function innermost(finding: SchemaFault): SchemaFault {
  const alternatives = (finding.schema as ValueSchema).anyOf ?? []
  const others = alternatives.flatMap((schema, index) =>
    schema.type === 'null' || !isOfKind(finding.value, schema) ? [] : [index],
  )
  if (finding.value === null || finding.value === undefined || others.length !== 1) {
    return others.length === 0 && alternatives.length > 1 ? ofNoKind(finding) : finding
  }
  const inner = finding.errors[others[0] ?? 0]?.First()
  return inner === undefined ? finding : innermost(inner)
}

/** The fault of a value that matches no alternative's `kind`: its kind. */
function ofNoKind({ schema, path, value }: SchemaFault): SchemaFault {
  const kinds = ((schema as ValueSchema).anyOf ?? []).flatMap(
    ({ properties }) => properties?.['kind'] ?? [],
  )
  const kind: unknown =
    typeof value === 'object' && value !== null && 'kind' in value ? value.kind : undefined
  return {
    schema: { anyOf: kinds } as ValueSchema as TSchema,
    path: `${path}/kind`,
    value: kind,
    message: 'Expected a kind',
    errors: [],
  }
}

function faultOf({ schema, path, value, message }: SchemaFault): Fault {
  const names = path
    .split('/')
    .slice(1)
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'))
  const fault = (code: ErrorCode, detail: string): Fault => ({ path: names, code, detail })
  if (value === undefined) return fault('required', 'This field is required.')
  if (message === 'Unexpected property') return fault('invalid_input', 'Unexpected field.')
  if (value === null) return fault('null', 'This field may not be null.')
  const expected = valueSchema(schema as ValueSchema)
  if (expected.type === 'string' && value === '') {
    return fault('blank', 'This field may not be blank.')
  }
  const is_choice = expected.enum?.every((choice) => typeof choice === 'string') === true
  if (is_choice && typeof value === 'string') {
    return fault('invalid_choice', `${JSON.stringify(value.slice(0, 100))} is not a valid choice.`)
  }
  const beyond = limitDetail(expected, value)
  if (beyond !== null)
    return fault(typeof value === 'string' ? 'max_length' : 'invalid_input', beyond)
  if (expected.type === undefined && typeof value === 'string') {
    const choices = (expected.anyOf ?? []).flatMap(({ const: choice }) =>
      typeof choice === 'string' ? [choice] : [],
    )
    const stored = choices.length === 0 ? '' : ` Choose one of: ${choices.join(', ')}.`
    const detail = `${JSON.stringify(value.slice(0, 100))} is not a valid choice.${stored}`
    return fault('invalid_input', detail)
  }
  if (expected.format === 'email' && typeof value === 'string')
    return fault('invalid_input', 'Enter a valid email address.')
  return fault('invalid_input', TYPE_DETAILS[expected.type ?? ''] ?? 'Not a valid value.')
}

/** Describes a violated limit of a value of the right type; null when no limit is violated. */
function limitDetail(expected: ValueSchema, value: unknown): string | null {
  const { type, maxLength, minItems, maxItems, minimum, maximum } = expected
  if (type === 'string' && typeof value === 'string') {
    if (maxLength === undefined || value.length <= maxLength) return null
    return `Ensure this field has no more than ${maxLength} characters.`
  }
  if (type === 'array' && Array.isArray(value)) {
    if (minItems !== undefined && value.length < minItems) {
      return `Ensure this field has at least ${elementCount(minItems)}.`
    }
    if (maxItems === undefined || value.length <= maxItems) return null
    return `Ensure this field has no more than ${elementCount(maxItems)}.`
  }
  if (typeof value !== 'number') return null
  if (minimum !== undefined && value < minimum) {
    return `Ensure this value is greater than or equal to ${minimum}.`
  }
  if (maximum === undefined || value <= maximum) return null
  return `Ensure this value is less than or equal to ${maximum}.`
}

const elementCount = (count: number): string => `${count} ${count === 1 ? 'element' : 'elements'}`

/** False when the value's `kind` is not that of the schema. */
function isOfKind(value: unknown, { properties }: ValueSchema): boolean {
  const kinds = properties?.['kind']
  if (kinds === undefined || typeof value !== 'object' || value === null) return true
  return 'kind' in value && value.kind === kinds.const
}

type ValueSchema = {
  readonly type?: string
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly format?: string
  readonly properties?: Readonly<Record<string, ValueSchema>>
  readonly maxLength?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly anyOf?: readonly ValueSchema[]
}

/** Removes null from a union with one other alternative. */
function valueSchema(schema: ValueSchema): ValueSchema {
  const [only, ...others] = (schema.anyOf ?? []).filter(({ type }) => type !== 'null')
  return only !== undefined && others.length === 0 ? only : schema
}

const unknownFault = (): Fault => ({
  path: [],
  code: 'invalid_input',
  detail: 'Not a valid value.',
})
