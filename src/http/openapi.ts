/** Describes the API as an OpenAPI 3.1 document, built from the schemas that validate bodies. */
import type { TSchema } from 'elysia'
import { ErrorAnswer } from '../contract/common.ts'
import { PUBLIC_OPERATIONS, type PublicOperation } from '../contract/public/public.ts'
import type { Route } from './route.ts'

type OpenApiJson = null | boolean | number | string | readonly OpenApiJson[] | OpenApiObject
export type OpenApiObject = { readonly [key: string]: OpenApiJson }

/** One operation of the document. */
export type OpenApiOperation = {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly summary: string
  readonly description: string
  readonly parameters: readonly OpenApiObject[]
  readonly responses: OpenApiObject
  readonly requestBody?: OpenApiObject
  readonly security: readonly OpenApiObject[]
  readonly 'x-scope'?: string
}

/** An OpenAPI document. */
export type OpenApiDocument = {
  readonly openapi: '3.1.0'
  readonly info: OpenApiObject
  readonly servers: readonly OpenApiObject[]
  readonly paths: { readonly [path: string]: { readonly [method: string]: OpenApiOperation } }
  readonly components: {
    readonly schemas: { readonly [name: string]: OpenApiJson }
    readonly securitySchemes: OpenApiObject
  }
}

const JSON_TYPE = 'application/json'
const ERROR_NAME = 'Error'
const ERROR_STATUSES = {
  400: 'The body or a parameter is wrong; `attr` names the field.',
  401: 'The key is missing or not valid.',
  403: 'The key or the user may not do this.',
  404: 'Not found, or not accessible with this key.',
  415: 'The body is not JSON.',
  429: 'A limit was exceeded; `Retry-After` says when to try again.',
} as const

/** Named schemas. A schema that occurs more than once becomes a component. */
class Components {
  readonly schemas: { [name: string]: OpenApiJson } = { [ERROR_NAME]: withoutNullable(ErrorAnswer) }
  readonly #names = new Map<TSchema, string>([[ErrorAnswer, ERROR_NAME]])

  /** Returns a reference to a schema; `name` is used if the schema has no name yet. */
  refer(schema: TSchema, name: string): OpenApiObject {
    const stored = this.#names.get(schema)
    if (stored === undefined) {
      this.#names.set(schema, name)
      this.schemas[name] = withoutNullable(schema)
    }
    return { $ref: `#/components/schemas/${stored ?? name}` }
  }
}

/** Builds the document. Routes without a description are listed by method, path and scope. */
export function describeApi(routes: readonly Route[], server_url: string): OpenApiDocument {
  const components = new Components()
  const paths: { [path: string]: { [method: string]: OpenApiOperation } } = {}
  const add = (path: string, method: string, operation: OpenApiOperation): void => {
    const braced = path.replace(/:(\w+)/g, '{$1}')
    paths[braced] = { ...paths[braced], [method.toLowerCase()]: operation }
  }
  for (const route of routes) {
    for (const path of route.paths) {
      add(path, route.method, managementOperation(route, path, components))
    }
  }
  for (const operation of PUBLIC_OPERATIONS) {
    add(operation.path, operation.method, publicOperation(operation, components))
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Tidemark', version: '1', description: 'Product analytics in one executable.' },
    servers: [{ url: server_url }],
    paths,
    components: {
      schemas: components.schemas,
      securitySchemes: { personal_api_key: { type: 'http', scheme: 'bearer' } },
    },
  }
}

function managementOperation(route: Route, path: string, components: Components): OpenApiOperation {
  const { method, scope, body, summary, query, answers } = route
  const operationId = idOf(method, path)
  const errors = Object.entries(ERROR_STATUSES).map(([status, description]) => [
    status,
    { description, content: contentOf(components.refer(ErrorAnswer, ERROR_NAME)) },
  ])
  return {
    operationId,
    tags: [tagOf(path)],
    summary: summary ?? `${method} ${path}`,
    description: `Needs the scope \`${scope}\`.`,
    parameters: [...pathParameters(path), ...queryParameters(query)],
    ...(body === null ? {} : bodyOf(components.refer(body.schema, `${operationId}_body`))),
    responses: {
      ...answersOf(answers ?? { 200: null }, operationId, components),
      ...(Object.fromEntries(errors) as OpenApiObject),
    },
    security: [{ personal_api_key: [] }],
    'x-scope': scope,
  }
}

function publicOperation(operation: PublicOperation, components: Components): OpenApiOperation {
  const { method, path, summary, query, body, answers } = operation
  const operationId = idOf(method, path)
  return {
    operationId,
    tags: [tagOf(path)],
    summary,
    description: 'Needs no personal API key.',
    parameters: [...pathParameters(path), ...queryParameters(query)],
    ...(body === undefined ? {} : bodyOf(components.refer(body, `${operationId}_body`))),
    responses: answersOf(answers, operationId, components),
    security: [],
  }
}

function answersOf(
  answers: Readonly<Record<number, TSchema | null>>,
  operationId: string,
  components: Components,
): OpenApiObject {
  return Object.fromEntries(
    Object.entries(answers).map(([status, schema]) => {
      if (schema === null) return [status, { description: 'Done.' }]
      const answer = components.refer(schema, `${operationId}_${status}`)
      return [status, { description: 'The answer.', content: contentOf(answer) }]
    }),
  )
}

const contentOf = (schema: OpenApiObject): OpenApiObject => ({ [JSON_TYPE]: { schema } })

function bodyOf(schema: OpenApiObject): { readonly requestBody: OpenApiObject } {
  return { requestBody: { required: true, content: contentOf(schema) } }
}

function pathParameters(path: string): readonly OpenApiObject[] {
  return [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }))
}

function queryParameters(query: TSchema | undefined): readonly OpenApiObject[] {
  if (query === undefined) return []
  const { properties, required } = withoutNullable(query) as {
    readonly properties?: OpenApiObject
    readonly required?: readonly string[]
  }
  return Object.entries(properties ?? {}).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required?.includes(name) ?? false,
    schema,
  }))
}

/**
 * Converts a schema to plain JSON: TypeBox keeps its own data under symbols, and `nullable` belonged to OpenAPI
 * 3.0.
 */
function withoutNullable(schema: TSchema): OpenApiObject {
  const text = JSON.stringify(schema, (name, value: unknown) =>
    name === 'nullable' && typeof value === 'boolean' ? undefined : value,
  )
  return JSON.parse(text) as OpenApiObject
}

function idOf(method: string, path: string): string {
  const words = path.replaceAll(':', 'by_').split(/[^A-Za-z0-9_]+/)
  return [method.toLowerCase(), ...words].filter((word) => word !== '').join('_')
}

/** The tag of a path: its first constant segment, below the organization or project. */
function tagOf(path: string): string {
  const words = path.split('/').filter((word) => word !== '' && word !== 'api')
  const names = words.filter((word) => !word.startsWith(':'))
  const is_nested = /^(environments|projects|organizations)$/.test(names[0] ?? '')
  return (
    (is_nested ? (names[1] === 'projects' ? (names[2] ?? names[1]) : names[1]) : undefined) ??
    names[0] ??
    'api'
  )
}
