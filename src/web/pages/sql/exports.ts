/** Taking a query elsewhere: as a file of all its rows, or as code that asks it. */
import { download } from '../../api/call.ts'

/** EXPORT_FORMATS: files that the server writes, without the limit of rows that a page has. */
export const EXPORT_FORMATS = [
  { format: 'csv', text: 'CSV', ending: 'csv' },
  { format: 'xlsx', text: 'Excel', ending: 'xlsx' },
  { format: 'ndjson', text: 'JSON lines', ending: 'jsonl' },
  { format: 'arrow', text: 'Arrow', ending: 'arrows' },
  { format: 'parquet', text: 'Parquet', ending: 'parquet' },
] as const

export type QueryFileFormat = (typeof EXPORT_FORMATS)[number]

/** Asks for a file and hands it to the browser's downloads. Throws ApiError. */
export async function saveAsFile(
  project_id: number,
  text: string,
  { format, ending }: QueryFileFormat,
): Promise<void> {
  const response = await download('POST', `/api/projects/${project_id}/query/`, {
    query: { format },
    body: { query: { kind: 'HogQLQuery', query: text } },
  })
  const address = URL.createObjectURL(await response.blob())
  const link = document.createElement('a')
  link.href = address
  link.download = `query.${ending}`
  link.click()
  setTimeout(() => URL.revokeObjectURL(address), REVOKE_AFTER_MS)
}

const REVOKE_AFTER_MS = 60_000

/** CODE_FORMS: programs that ask the query with a personal key. */
export const CODE_FORMS: readonly {
  readonly text: string
  readonly write: (address: string, query: string) => string
}[] = [
  {
    text: 'curl',
    write: (address, query) =>
      [
        `curl -X POST ${address}`,
        `-H "Authorization: Bearer $TIDEMARK_KEY" -H 'Content-Type: application/json'`,
        `-d '${bodyOf(query).replaceAll("'", String.raw`'\''`)}'`,
      ].join(' \\\n  '),
  },
  {
    text: 'Node',
    write: (address, query) => `const response = await fetch(${JSON.stringify(address)}, {
  method: 'POST',
  headers: { Authorization: \`Bearer \${process.env.TIDEMARK_KEY}\`, 'Content-Type': 'application/json' },
  body: JSON.stringify({ query: { kind: 'HogQLQuery', query: ${JSON.stringify(query)} } }),
})
const { columns, results } = await response.json()`,
  },
  {
    text: 'Python',
    write: (address, query) => `import os, requests

response = requests.post(
    ${JSON.stringify(address)},
    headers={"Authorization": f"Bearer {os.environ['TIDEMARK_KEY']}"},
    json={"query": {"kind": "HogQLQuery", "query": ${JSON.stringify(query)}}},
)
answer = response.json()`,
  },
]

const bodyOf = (query: string): string => JSON.stringify({ query: { kind: 'HogQLQuery', query } })
