/** CODE_FORMS: programs that run a query as the page does, with a personal key that the reader fills in. */
import type { AnyQuery } from '../../api/calls/ask.ts'
import { SERVER_URL } from '../../state/base-path.ts'

type CodeForm = {
  readonly text: string
  /** `address` is that of `query/`. */
  readonly write: (address: string, query: AnyQuery) => string
}

/** A command for a shell. */
export const CURL: CodeForm = {
  text: 'curl',
  write: (address, query) =>
    [
      `curl ${address}`,
      '-H "Authorization: Bearer $TIDEMARK_API_KEY"',
      "-H 'Content-Type: application/json'",
      `-d '${JSON.stringify({ query }).replaceAll("'", String.raw`'\''`)}'`,
    ].join(' \\\n  '),
}

export const CODE_FORMS: readonly CodeForm[] = [
  CURL,
  {
    text: 'Node',
    write: (address, query) => `const response = await fetch(${JSON.stringify(address)}, {
  method: 'POST',
  headers: { Authorization: \`Bearer \${process.env.TIDEMARK_API_KEY}\`, 'Content-Type': 'application/json' },
  body: JSON.stringify({ query: ${JSON.stringify(query)} }),
})
const { columns, results } = await response.json()`,
  },
  {
    text: 'Python',
    write: (address, query) => `import json, os, requests

response = requests.post(
    ${JSON.stringify(address)},
    headers={"Authorization": f"Bearer {os.environ['TIDEMARK_API_KEY']}"},
    json={"query": json.loads(${JSON.stringify(JSON.stringify(query))})},
)
answer = response.json()`,
  },
]

/** The address that the programs ask. */
export const queryAddress = (project_id: number): string =>
  `${SERVER_URL}/api/projects/${project_id}/query/`
