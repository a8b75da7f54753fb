/** Groups, and how events reach them. */

import type { PhysicalColumn } from '../sql/ir.ts'
import { applyFragment, bindInt } from '../sql/sql-fragments.ts'
import { INT64, STRING, TRUTH, withNull } from '../types/types.ts'
import {
  computedField,
  equal,
  type JoinDef,
  joinedFields,
  json,
  orEmpty,
  plainColumn,
  type ScanDef,
  type TableFields,
  TEAM_ID,
  time,
} from './definition.ts'

function groupFields(owner: string): TableFields {
  return {
    index: plainColumn('index', INT64),
    key: plainColumn('key', STRING),
    team_id: TEAM_ID,
    created_at: time('created_at'),
    updated_at: time('updated_at'),
    properties: json(owner),
  }
}

export const GROUPS: ScanDef = {
  kind: 'scan',
  relation: 'groups',
  fields: groupFields('group'),
  joins: {},
}

type GroupColumn = PhysicalColumn & `group_${number}`
/** The columns of events with the keys of their groups, by the index of the type. */
export const GROUP_COLUMNS: readonly GroupColumn[] = [
  'group_0',
  'group_1',
  'group_2',
  'group_3',
  'group_4',
]

function groupJoin(column: GroupColumn, index: number): JoinDef {
  return {
    table: { kind: 'scan', relation: 'groups', fields: groupFields(column), joins: {} },
    on: (event, group) => {
      const same_key = equal(group.column('key', STRING), event.column(column, STRING))
      const same_type = equal(group.column('index', INT64), bindInt(index, true))
      return applyFragment('and', [same_type, same_key], TRUTH)
    },
  }
}

export const GROUP_JOINS = Object.fromEntries(
  GROUP_COLUMNS.map((column, index) => [column, groupJoin(column, index)]),
)
export const GROUP_ROWS = Object.fromEntries(
  GROUP_COLUMNS.map((column) => [column, joinedFields(column, groupFields(column))]),
)
export const GROUP_ROWS_ON_EVENTS = Object.fromEntries(
  GROUP_COLUMNS.map((column, index) => [`goe_${index}`, joinedFields(column, groupFields(column))]),
)
export const GROUP_KEYS = Object.fromEntries(
  GROUP_COLUMNS.map((column) => [
    `$${column}`,
    computedField((event) => orEmpty(event.column(column, withNull(STRING)))),
  ]),
)
