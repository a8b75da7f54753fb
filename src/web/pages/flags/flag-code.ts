/** FLAG_CODES: the lines that read a flag, by language. Adding a language means adding a line. */
import type { DraftedFlag } from './flag-draft.ts'

/** The flag and the project that a snippet names. */
type FlagCodeInput = {
  readonly draft: DraftedFlag
  readonly url: string
  readonly token: string
  /** The name of the flag's group type; null for persons. */
  readonly group_type: string | null
}

type FlagCode = {
  readonly value: 'curl' | 'node' | 'python' | 'web'
  readonly text: string
  readonly code: (input: FlagCodeInput) => string
}

export const FLAG_CODES: readonly FlagCode[] = [
  {
    value: 'web',
    text: 'Web',
    code({ draft, group_type }) {
      const group = group_type === null ? '' : `posthog.group(${quote(group_type)}, "acme")\n`
      return `${group}posthog.onFeatureFlags(() => {
${testOf('posthog.', draft, quote(keyOf(draft)), '  ')}
})`
    },
  },
  {
    value: 'node',
    text: 'Node',
    code({ draft, group_type }) {
      const groups = group_type === null ? '' : `, { groups: { ${quote(group_type)}: "acme" } }`
      return testOf('await client.', draft, `${quote(keyOf(draft))}, "ann"${groups}`)
    },
  },
  {
    value: 'python',
    text: 'Python',
    code({ draft, group_type }) {
      const groups = group_type === null ? '' : `, groups={${quote(group_type)}: "acme"}`
      const names = `${quote(keyOf(draft))}, "ann"${groups}`
      const variant = testedVariant(draft)
      const [read, is] =
        variant === undefined
          ? ['feature_enabled', '']
          : ['get_feature_flag', ` == ${quote(variant.key)}`]
      return `value = client.${read}(
    ${names}
)
if value${is}:
    ...`
    },
  },
  {
    value: 'curl',
    text: 'curl',
    code({ url, token, group_type }) {
      const groups = group_type === null ? {} : { groups: { [group_type]: 'acme' } }
      const body = JSON.stringify({ api_key: token, distinct_id: 'ann', ...groups })
      return `curl '${url}/flags/?v=2' -H 'Content-Type: application/json' \\
  -d '${body.replaceAll("'", String.raw`'\''`)}'`
    },
  },
]

/** The key; an example before it is typed. */
const keyOf = ({ key }: DraftedFlag): string => key || 'new-checkout'

const quote = (text: string): string => JSON.stringify(text)

/** The variant with something new: the first one but `control`; none of a flag without variants. */
const testedVariant = ({ variants }: DraftedFlag): DraftedFlag['variants'][number] | undefined =>
  variants.find(({ key }) => key !== 'control') ?? variants[0]

/** The test in JavaScript, in short lines: on or off, or one variant. */
function testOf(client: string, draft: DraftedFlag, names: string, indent = ''): string {
  const variant = testedVariant(draft)
  const [read, is] =
    variant === undefined
      ? ['isFeatureEnabled', '']
      : ['getFeatureFlag', ` === ${quote(variant.key)}`]
  return `${indent}const value =
${indent}  ${client}${read}(${names})
${indent}if (value${is}) {
${indent}  // …
${indent}}`
}
