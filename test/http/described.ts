/** Real answers held against what is told of the routes that gave them. */
import { getSchemaValidator, type TSchema } from 'elysia'
import { ROUTES } from '../../src/app.ts'
import { ErrorAnswer } from '../../src/contract/common.ts'

/** An answer as it came. */
export type Answered = {
  readonly method: string
  readonly path: string
  readonly status: number
  readonly text: string
}

/** What an answer of the management API says that its route's description does not; empty when all is told. */
export function untold({ method, path, status, text }: Answered): readonly string[] {
  if (status >= 400) return faultsOf(ErrorAnswer, JSON.parse(text))
  const route = MATCHERS.find(
    (one) => one.method === method && one.pattern.test(path.split('?')[0] ?? ''),
  )
  if (route === undefined) return [`no route ${method} ${path}`]
  const schema = route.answers?.[status]
  if (schema === undefined) return [`${method} ${path} does not tell of ${status}`]
  if (schema === null) return text === '' ? [] : [`${method} ${path} tells of no body`]
  return faultsOf(schema, JSON.parse(text)).map((fault) => `${method} ${path} ${status}${fault}`)
}

/** Cases by method and path, and those of PATCH for PUT as well: what changes one thing does so by either. */
export function withPutCases<Case>(cases: Readonly<Record<string, Case>>): Record<string, Case> {
  const twins = Object.entries(cases)
    .filter(([name]) => /^PATCH .*:\w+\/$/.test(name))
    .map(([name, one]) => [name.replace('PATCH', 'PUT'), one] as const)
  return { ...Object.fromEntries(twins), ...cases }
}

/** Paths as they are called, fixed names before `:name`s, as the router has it. */
const MATCHERS = ROUTES.flatMap(({ method, paths, answers }) =>
  paths.map((path) => ({
    method,
    answers,
    fixed: path.split('/').filter((part) => !part.startsWith(':')).length,
    pattern: new RegExp(`^${path.replace(/:\w+/g, '[^/]+')}?$`),
  })),
).toSorted((a, b) => b.fixed - a.fixed)

/** What is wrong with a value that may say no more than a schema tells. */
export function faultsOf(schema: TSchema, value: unknown): readonly string[] {
  const checker = checkerOf(schema)
  if (checker.Check(value)) return []
  return [...checker.Errors(value)].map(({ path, message }) => `${path}: ${message}`)
}

/** Compiling one takes up to tens of milliseconds, and tests hold thousands of answers against the same few. */
const CHECKERS = new WeakMap<TSchema, ReturnType<typeof compileStrict>>()

function checkerOf(schema: TSchema): ReturnType<typeof compileStrict> {
  const known = CHECKERS.get(schema)
  if (known !== undefined) return known
  const checker = compileStrict(schema)
  CHECKERS.set(schema, checker)
  return checker
}

const compileStrict = (schema: TSchema) =>
  getSchemaValidator<TSchema>(strict(schema), { dynamic: false })

/** The same schema, refusing members that it does not name. */
function strict(schema: TSchema): TSchema {
  const copy: TSchema = { ...schema }
  if (schema['properties'] !== undefined) {
    const properties = Object.entries(schema['properties'] as Record<string, TSchema>)
    copy['properties'] = Object.fromEntries(properties.map(([name, one]) => [name, strict(one)]))
    copy['additionalProperties'] ??= false
  }
  if (Array.isArray(schema['items'])) copy['items'] = schema['items'].map(strict)
  else if (schema['items'] !== undefined) copy['items'] = strict(schema['items'] as TSchema)
  if (Array.isArray(schema['anyOf'])) copy['anyOf'] = schema['anyOf'].map(strict)
  return copy
}
