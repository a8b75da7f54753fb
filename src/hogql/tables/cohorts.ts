/** Tables of cohort members, and of distinct ids that changed their person. */

import type { CohortReference, CompileContext } from '../context.ts'
import { parseExpr } from '../parser/parser.ts'
import type { Expr } from '../syntax/ast.ts'
import { compare, constant, field, integer, tuple } from '../syntax/nodes.ts'
import { expr } from '../template.ts'
import { INT64, UUID } from '../types/types.ts'
import {
  equal,
  type JoinDef,
  joinedFields,
  plainColumn,
  type ScanDef,
  TEAM_ID,
  type ViewDef,
  viewColumns,
  viewFields,
} from './definition.ts'
import { BARE_PERSONS, PERSON_FIELDS, RAW_PERSON_DISTINCT_IDS } from './persons.ts'

const MEMBERS: ScanDef = {
  kind: 'scan',
  relation: 'cohort_people',
  fields: { person_id: plainColumn('person_id', UUID), cohort_id: plainColumn('cohort_id', INT64) },
  joins: {},
}

const PERSON: JoinDef = {
  table: BARE_PERSONS,
  on: (row, person) => equal(person.column('id', UUID), row.computed('person_id')),
}

/** Members of uploaded cohorts, or of computed ones. */
function membersOf(is_static: boolean): ViewDef {
  const columns = { person_id: 'person_id', cohort_id: 'cohort_id' }
  return {
    kind: 'view',
    of: MEMBERS,
    columns: viewColumns(columns),
    where: (context) => ofKind(context, is_static),
    group_by: [],
    instants: [],
    fields: {
      ...viewFields(columns),
      team_id: TEAM_ID,
      person: joinedFields('person', PERSON_FIELDS),
    },
    joins: { person: PERSON },
  }
}

/** More ids than this are one text: a tuple of thousands is beyond the size of a type. */
const TUPLE_MAX = 500

/** The conditions of a list of cohorts, for static ones and others: a query may name a hundred cohorts. */
const conditions = new WeakMap<readonly CohortReference[], Map<boolean, Expr>>()

function ofKind({ cohorts }: CompileContext, is_static: boolean): Expr {
  const all = cohorts?.() ?? []
  const known = conditions.get(all)?.get(is_static)
  if (known !== undefined) return known
  const ids = all.flatMap((cohort) => (cohort.is_static === is_static ? cohort.id : []))
  const condition = isOneOf(ids)
  const own = conditions.get(all) ?? new Map<boolean, Expr>()
  conditions.set(all, own.set(is_static, condition))
  return condition
}

function isOneOf(ids: readonly number[]): Expr {
  if (ids.length === 0) return constant(false)
  if (ids.length <= TUPLE_MAX) {
    return compare(field(['cohort_id']), 'in', tuple(ids.map((id) => integer(id))))
  }
  const list = constant(JSON.stringify(ids))
  return expr`cohort_id in (select arrayJoin(JSONExtract(${list}, 'Array(Int64)')))`
}

export const COHORT_PEOPLE: ViewDef = membersOf(false)
export const STATIC_COHORT_PEOPLE: ViewDef = membersOf(true)

const CHANGED = parseExpr('version > 0')

/** Distinct ids that now belong to another person than at first. */
function overrides(names: readonly string[]): ViewDef {
  const columns = Object.fromEntries(names.map((name) => [name, name]))
  return {
    kind: 'view',
    of: RAW_PERSON_DISTINCT_IDS,
    columns: viewColumns(columns),
    where: () => CHANGED,
    group_by: [],
    instants: [],
    fields: {
      ...viewFields(columns),
      team_id: TEAM_ID,
      person: joinedFields('person', PERSON_FIELDS),
    },
    joins: { person: PERSON },
  }
}

export const PERSON_DISTINCT_ID_OVERRIDES: ViewDef = overrides(['distinct_id', 'person_id'])
export const RAW_PERSON_DISTINCT_ID_OVERRIDES: ViewDef = overrides([
  'distinct_id',
  'person_id',
  'is_deleted',
  'version',
])
