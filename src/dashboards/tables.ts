/** Drizzle tables of saved insights, dashboards, annotations and definitions; the schema is in sql/control. */
import { integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { flag, json, strings, timestamp } from '../projects/tables.ts'

export const insights = sqliteTable('insights', {
  id: integer().primaryKey({ autoIncrement: true }),
  project_id: integer().notNull(),
  short_id: text().notNull(),
  name: text(),
  /** Shown by clients while there is no name; the server sets none. */
  derived_name: text(),
  description: text().notNull().default(''),
  query: json(),
  filters: json().notNull().default({}),
  tags: strings().notNull().default([]),
  favorited: flag().notNull().default(false),
  saved: flag().notNull().default(false),
  deleted: flag().notNull().default(false),
  created_by: integer(),
  last_modified_by: integer(),
  created_at: timestamp().notNull(),
  last_modified_at: timestamp().notNull(),
})

export const dashboards = sqliteTable('dashboards', {
  id: integer().primaryKey({ autoIncrement: true }),
  project_id: integer().notNull(),
  name: text(),
  description: text().notNull().default(''),
  pinned: flag().notNull().default(false),
  tags: strings().notNull().default([]),
  filters: json().notNull().default({}),
  variables: json().notNull().default({}),
  creation_mode: text().notNull().default('default'),
  restriction_level: integer().notNull().default(21),
  deleted: flag().notNull().default(false),
  created_by: integer(),
  created_at: timestamp().notNull(),
  last_modified_at: timestamp().notNull(),
})

export const dashboard_tiles = sqliteTable('dashboard_tiles', {
  id: integer().primaryKey({ autoIncrement: true }),
  dashboard_id: integer().notNull(),
  insight_id: integer(),
  body: text(),
  layouts: json().notNull().default({}),
  color: text(),
  /** Whether the tile shows its insight's description; null for the client's default. */
  show_description: flag(),
})

export const insight_variables = sqliteTable('insight_variables', {
  id: text().primaryKey(),
  project_id: integer().notNull(),
  name: text().notNull(),
  code_name: text().notNull(),
  type: text().notNull(),
  default_value: json(),
  values: json(),
  created_by: integer(),
  created_at: timestamp().notNull(),
})

export const annotations = sqliteTable('annotations', {
  id: integer().primaryKey({ autoIncrement: true }),
  project_id: integer().notNull(),
  content: text(),
  date_marker: timestamp(),
  creation_type: text().notNull().default('USR'),
  scope: text().notNull().default('dashboard_item'),
  insight_id: integer(),
  dashboard_id: integer(),
  deleted: flag().notNull().default(false),
  created_by: integer(),
  created_at: timestamp().notNull(),
  updated_at: timestamp().notNull(),
})

export const definitions = sqliteTable(
  'definitions',
  {
    project_id: integer().notNull(),
    id: text().notNull(),
    description: text(),
    tags: strings().notNull().default([]),
    owner: integer(),
    hidden: flag().notNull().default(false),
    verified: flag().notNull().default(false),
    verified_at: timestamp(),
    verified_by: integer(),
    updated_at: timestamp().notNull(),
    updated_by: integer(),
    deleted_at: timestamp(),
  },
  (table) => [primaryKey({ columns: [table.project_id, table.id] })],
)

export const insight_views = sqliteTable(
  'insight_views',
  {
    insight_id: integer().notNull(),
    user_id: integer().notNull(),
    last_viewed_at: timestamp().notNull(),
  },
  (table) => [primaryKey({ columns: [table.insight_id, table.user_id] })],
)
