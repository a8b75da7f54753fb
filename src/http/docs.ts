/** The API's description: an OpenAPI document at /api/schema/ and a self-contained page at /docs. */

import { isObject } from '../json.ts'
import { memoizeValue } from '../memoize.ts'
import { answerFixed, fixText } from './answers/fixed-texts.ts'
import type { AppContext } from './app-context.ts'
import type { Endpoint } from './endpoint.ts'
import {
  describeApi,
  type OpenApiDocument,
  type OpenApiObject,
  type OpenApiOperation,
} from './openapi.ts'
import type { Route } from './route.ts'

/** Clients revalidate each time: the next version of the server describes another API. */
const CACHE = { 'Cache-Control': 'no-cache' }

const HTML_HEADERS = {
  ...CACHE,
  'Content-Type': 'text/html; charset=utf-8',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Content-Security-Policy':
    "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
} as const

const SCHEMA_HEADERS = {
  ...CACHE,
  'Content-Type': 'application/json',
  'X-Content-Type-Options': 'nosniff',
  // Generators and editors of other origins read it; it contains no caller's data.
  'Access-Control-Allow-Origin': '*',
} as const

const STYLE = `body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1b1f24;background:#fff}
h2{margin-top:2.5rem;border-bottom:1px solid #d8dee4}details{border:1px solid #d8dee4;border-radius:6px;margin:.4rem 0;padding:.3rem .8rem}
summary{cursor:pointer}code{font:14px ui-monospace,monospace;overflow-wrap:anywhere}b.m{display:inline-block;width:4.5rem}
table{border-collapse:collapse;width:100%}td,th{border-bottom:1px solid #eaeef2;text-align:left;padding:.2rem .6rem .2rem 0;vertical-align:top}
@media(prefers-color-scheme:dark){body{color:#e6edf3;background:#0d1117}h2,details,td,th{border-color:#30363d}a{color:#79b8ff}}`

/** Creates the endpoints. Each text is made for the first caller, which takes 30 ms. */
export function docsEndpoints(app: AppContext, routes: readonly Route[]): readonly Endpoint[] {
  const describe = (): OpenApiDocument => describeApi(routes, app.publicUrl())
  const readSchema = memoizeValue(() => fixText(JSON.stringify(describe())))
  const readPage = memoizeValue(() => fixText(pageOf(describe(), app.publicUrl())))
  return [
    {
      method: 'GET',
      path: '/api/schema/',
      answer: (request) => answerFixed(request, readSchema(), SCHEMA_HEADERS),
    },
    {
      method: 'GET',
      path: '/docs',
      answer: (request) => answerFixed(request, readPage(), HTML_HEADERS),
    },
  ]
}

/** Renders the document as an HTML page. */
function pageOf({ info, paths, components }: OpenApiDocument, public_url: string): string {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  )
  const groups = Map.groupBy(operations, ({ operation }) => operation.tags[0] ?? '')
  const tags = [...groups.keys()].toSorted((one, other) => one.localeCompare(other))
  const sections = tags.map((tag) => {
    const its = (groups.get(tag) ?? []).map((one) => operationOf(one, components.schemas))
    return `<h2 id="${escape(tag)}">${escape(tag)}</h2>${its.join('')}`
  })
  const links = tags.map((tag) => `<a href="#${escape(tag)}">${escape(tag)}</a>`)
  const title = `${textIn(info, 'title')} API`
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${escape(title)}</title>
<meta name="viewport" content="width=device-width"><style>${STYLE}</style></head><body><h1>${escape(title)}</h1>
<p>Management calls carry <code>Authorization: Bearer &lt;personal API key&gt;</code>; every call says which scope its key needs.
Errors are <code>{"type", "code", "detail", "attr"}</code>. The same for programs: <a href="${escape(public_url)}/api/schema/">/api/schema/</a>.</p>
<p>${links.join(' · ')}</p>${sections.join('')}</body></html>`
}

type ListedOperation = {
  readonly path: string
  readonly method: string
  readonly operation: OpenApiOperation
}

function operationOf({ path, method, operation }: ListedOperation, schemas: OpenApiObject): string {
  const scope = operation['x-scope']
  const parts = [
    scope === undefined ? '' : `<p>Scope <code>${escape(scope)}</code></p>`,
    tableOf('Parameters', operation.parameters.map(parameterRow)),
    tableOf('Body', fieldRows(schemaIn(operation.requestBody, schemas))),
    tableOf(
      'Answers',
      Object.keys(operation.responses).map((status) => [status, '']),
    ),
  ]
  return `<details><summary><b class="m">${escape(method.toUpperCase())}</b><code>${escape(path)}</code>
 ${escape(operation.summary)}</summary>${parts.join('')}</details>`
}

function tableOf(title: string, rows: readonly (readonly [name: string, type: string])[]): string {
  if (rows.length === 0) return ''
  const lines = rows.map(
    ([name, type]) => `<tr><td><code>${escape(name)}</code></td><td>${escape(type)}</td></tr>`,
  )
  return `<table><tr><th>${title}</th><th></th></tr>${lines.join('')}</table>`
}

function parameterRow(parameter: OpenApiObject): readonly [string, string] {
  const place = `in the ${textIn(parameter, 'in')}`
  return [textIn(parameter, 'name'), `${typeOf(parameter['schema'])}, ${place}`]
}

function fieldRows(schema: OpenApiObject | null): readonly (readonly [string, string])[] {
  const { properties, required } = schema ?? {}
  if (!isObject(properties)) return []
  const needed = new Set(Array.isArray(required) ? required : [])
  return Object.entries(properties).map(([name, field]) => [
    name,
    needed.has(name) ? `${typeOf(field)}, required` : typeOf(field),
  ])
}

/** Lists the schemas that a body refers to. */
function schemaIn(body: OpenApiObject | undefined, schemas: OpenApiObject): OpenApiObject | null {
  const name = /"#\/components\/schemas\/([^"]+)"/.exec(JSON.stringify(body ?? {}))?.[1]
  const schema = name === undefined ? undefined : schemas[name]
  return isObject(schema) ? schema : null
}

function typeOf(schema: unknown): string {
  if (!isObject(schema)) return 'any JSON'
  const { type, anyOf, items, format } = schema
  if (Array.isArray(schema['enum'])) return schema['enum'].map(String).join(' | ')
  if (Array.isArray(anyOf)) return anyOf.map(typeOf).join(' or ')
  if (type === 'array') return `list of ${typeOf(items)}`
  if (typeof type !== 'string') return 'any JSON'
  return typeof format === 'string' ? `${type} (${format})` : type
}

function textIn(object: OpenApiObject, name: string): string {
  const value = object[name]
  return typeof value === 'string' ? value : ''
}

function escape(text: string): string {
  return Bun.escapeHTML(text)
}
