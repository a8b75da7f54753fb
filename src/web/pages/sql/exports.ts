/** Taking a query elsewhere: as a file of all its rows, or as code that asks it. */
import { download } from '../../api/call.ts'
import { saveFile } from '../../parts/answer/save-file.ts'
import type { HogQLNode } from './node.ts'

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
  node: HogQLNode,
  { format, ending }: QueryFileFormat,
): Promise<void> {
  const response = await download('POST', `/api/projects/${project_id}/query/`, {
    query: { format },
    body: { query: node },
  })
  saveFile(`query.${ending}`, await response.blob())
}

/** CODE_FORMS: programs that ask the query with a personal key. */
export const CODE_FORMS: readonly {
  readonly text: string
  readonly write: (address: string, node: HogQLNode) => string
}[] = [
  {
    text: 'curl',
    write: (address, node) =>
      [
        `curl -X POST ${address}`,
        `-H "Authorization: Bearer $TIDEMARK_KEY" -H 'Content-Type: application/json'`,
        `-d '${JSON.stringify({ query: node }).replaceAll("'", String.raw`'\''`)}'`,
      ].join(' \\\n  '),
  },
  {
    text: 'Node',
    write: (address, node) => `const response = await fetch(${JSON.stringify(address)}, {
  method: 'POST',
  headers: { Authorization: \`Bearer \${process.env.TIDEMARK_KEY}\`, 'Content-Type': 'application/json' },
  body: JSON.stringify({ query: ${JSON.stringify(node)} }),
})
const { columns, results } = await response.json()`,
  },
  {
    text: 'Python',
    write: (address, node) => `import json, os, requests

response = requests.post(
    ${JSON.stringify(address)},
    headers={"Authorization": f"Bearer {os.environ['TIDEMARK_KEY']}"},
    json={"query": json.loads(${JSON.stringify(JSON.stringify(node))})},
)
answer = response.json()`,
  },
]
