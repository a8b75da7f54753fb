/** SCALAR_FUNCTIONS: registers the scalar functions written in TypeScript with a DuckDB instance, before it is locked. */
import {
  BIGINT,
  BLOB,
  BOOLEAN,
  DOUBLE,
  DuckDBBlobValue,
  type DuckDBConnection,
  type DuckDBDataChunk,
  DuckDBListValue,
  DuckDBScalarFunction,
  DuckDBStructValue,
  type DuckDBType,
  type DuckDBValue,
  type DuckDBVector,
  HUGEINT,
  LIST,
  STRUCT,
  VARCHAR,
} from '@duckdb/node-api'
import {
  type ScalarFunction,
  ScalarRefusal,
  type ScalarType,
  type ScalarValue,
} from '../../hogql/scalars/definition.ts'
import { HOGQL_SCALARS } from '../../hogql/scalars/scalars.ts'
import { AGGREGATE_FUNNELS } from '../../insights/folds/aggregate-funnel.ts'
import { FUNNEL_SCALARS } from '../../insights/folds/funnel-scalars.ts'
import { PATH_SCALARS } from '../../insights/folds/path-scalars.ts'

/** One line per room that defines scalar functions. */
const SCALAR_FUNCTIONS: readonly ScalarFunction[] = [
  ...HOGQL_SCALARS,
  ...AGGREGATE_FUNNELS,
  ...FUNNEL_SCALARS,
  ...PATH_SCALARS,
]

/** Registers every function for all connections of the instance. They run on the calling thread. */
export function registerScalars(connection: DuckDBConnection): void {
  for (const { name, takes, gives, fixed = 0, compute } of SCALAR_FUNCTIONS) {
    connection.registerScalarFunction(
      DuckDBScalarFunction.create({
        name,
        parameterTypes: takes.map(engineType),
        returnType: engineType(gives),
        mainFunction: (info, input, output) => {
          try {
            computeRows({ compute, gives, fixed }, input, output)
          } catch (error) {
            info.setError(error instanceof ScalarRefusal ? error.message : `${name} failed`)
          }
        },
      }),
    )
  }
}

type ComputedScalar = Pick<ScalarFunction, 'compute' | 'gives'> & { readonly fixed: number }

/** A chunk has at most 2,048 rows. */
function computeRows(
  { compute, gives, fixed }: ComputedScalar,
  input: DuckDBDataChunk,
  output: DuckDBVector,
): void {
  // The types of `compute` are those of `takes`, which the engine has cast the arguments to.
  const run = compute as (...args: readonly ScalarValue[]) => ScalarValue
  const columns = Array.from({ length: input.columnCount }, (_, column) =>
    input.getColumnVector(column),
  )
  const constants =
    input.rowCount === 0
      ? []
      : columns.slice(0, fixed).map((column) => scalarValue(column.getItem(0)))
  const others = columns.slice(fixed)
  for (let row = 0; row < input.rowCount; row += 1) {
    const args = [...constants, ...others.map((column) => scalarValue(column.getItem(row)))]
    const result = args.includes(null) ? null : run(...args)
    output.setItem(row, engineValue(result, gives))
  }
  output.flush()
}

function engineType(type: ScalarType): DuckDBType {
  if (typeof type === 'object') {
    if ('list' in type) return LIST(engineType(type.list))
    return STRUCT(
      Object.fromEntries(type.tuple.map((item, index) => [String(index + 1), engineType(item)])),
    )
  }
  return PLAIN_TYPES[type]
}

const PLAIN_TYPES = {
  bytes: BLOB,
  integer: BIGINT,
  number: DOUBLE,
  text: VARCHAR,
  truth: BOOLEAN,
  wide: HUGEINT,
} as const satisfies Record<Extract<ScalarType, string>, DuckDBType>

function scalarValue(value: DuckDBValue): ScalarValue {
  if (value === null || typeof value !== 'object') return value
  if (value instanceof DuckDBListValue) return value.items.map(scalarValue)
  if (value instanceof DuckDBBlobValue) return value.bytes
  if (value instanceof DuckDBStructValue) return Object.values(value.entries).map(scalarValue)
  throw new Error('a scalar function takes no such value')
}

function engineValue(value: ScalarValue, type: ScalarType): DuckDBValue {
  if (value === null) return null
  if (typeof type === 'object') {
    if (!Array.isArray(value)) throw new Error('a scalar function gave no list')
    const items: readonly ScalarValue[] = value
    if ('list' in type)
      return new DuckDBListValue(items.map((item) => engineValue(item, type.list)))
    const entries = type.tuple.map((item, index): [string, DuckDBValue] => [
      String(index + 1),
      engineValue(items[index] ?? null, item),
    ])
    return new DuckDBStructValue(Object.fromEntries(entries))
  }
  if (value instanceof Uint8Array) return new DuckDBBlobValue(value)
  if (typeof value === 'object') throw new Error(`a scalar function gave a list for a ${type}`)
  return value
}
