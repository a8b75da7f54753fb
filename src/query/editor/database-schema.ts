/** DatabaseSchemaQuery: every table and field that queries may name. */
import {
  type CatalogField,
  type CatalogFields,
  findTableFields,
  quotedName,
  tableNames,
} from './catalog.ts'
import { type EditorContext, groupTypesOf } from './editor-context.ts'

/**
 * Answers the whole catalog, which is the same for every project but for its group types; there are no joins but those of
 * the fields. Table by table, so that other requests need not wait for all of it.
 */
export async function readDatabaseSchema(_query: object, context: EditorContext): Promise<object> {
  const group_types = groupTypesOf(context)
  const tables: Record<string, object> = {}
  for (const name of tableNames()) {
    const fields = shownFields(findTableFields(name, group_types) ?? new Map())
    tables[name] = { type: 'posthog', id: name, name, fields, row_count: null }
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { tables, joins: [] }
}

function shownFields(fields: CatalogFields): object {
  return Object.fromEntries([...fields.values()].map((field) => [field.name, shownField(field)]))
}

function shownField({ name, type, table, field_names, chain }: CatalogField): object {
  const value = { name, hogql_value: quotedName(name), type, schema_valid: true }
  if (chain !== null) return { ...value, chain }
  if (field_names.length === 0) return value
  return { ...value, ...(table === null ? {} : { table }), fields: field_names }
}
