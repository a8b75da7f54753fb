/** Code that sends events: for a web page, an SDK, curl, each with the project's token and this address. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { CopyButton } from '../../parts/copy.tsx'
import { Choice } from '../../parts/fields/choice.tsx'
import { SERVER_URL } from '../../state/base-path.ts'
import { useProject } from '../../state/project.tsx'
import style from './start.module.css'

/** WAYS: how events can be sent. Adding one means adding a line. */
const WAYS = [
  {
    value: 'web',
    text: 'Web',
    hint: 'Put this into the head of every page. Page views, clicks and page leaves are captured automatically.',
    code: (url: string, token: string) => `<script src="${url}/static/array.js"></script>
<script>
  posthog.init('${token}', {
    api_host: '${url}',
  })
</script>`,
  },
  {
    value: 'node',
    text: 'Node',
    hint: 'npm install posthog-node',
    code: (url: string, token: string) => `import { PostHog } from 'posthog-node'

const client = new PostHog('${token}', { host: '${url}' })
client.capture({ distinctId: 'ann', event: 'signed up' })
await client.shutdown()`,
  },
  {
    value: 'python',
    text: 'Python',
    hint: 'pip install posthog',
    code: (url: string, token: string) => `from posthog import Posthog

client = Posthog('${token}', host='${url}')
client.capture('signed up', distinct_id='ann')
client.shutdown()`,
  },
  {
    value: 'curl',
    text: 'curl',
    hint: 'Any language that speaks HTTP does the same.',
    code: (url: string, token: string) => `curl -X POST '${url}/capture/' \\
  -H 'Content-Type: application/json' \\
  -d '{"api_key": "${token}", "event": "first event", "distinct_id": "me"}'`,
  },
] as const

type WayName = (typeof WAYS)[number]['value']

/** Draws the card. Its code is the page's main thing until events have come. */
export function SendCard({ has_events }: { readonly has_events: boolean }): VNode {
  const { api_token } = useProject()
  const [name, setName] = useState<WayName>('web')
  const way = WAYS.find(({ value }) => value === name) ?? WAYS[0]
  const code = way.code(SERVER_URL, api_token)
  return (
    <section class={style.card} aria-labelledby="send">
      <h2 id="send">Send your first event</h2>
      <Choice label="Sent by" options={WAYS} value={way.value} onChange={setName} />
      <p class={style.hint}>{way.hint}</p>
      <div class={style.code}>
        {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reached by keyboard */}
        <pre tabIndex={0} aria-label="Code" role="region">
          <code>{code}</code>
        </pre>
        <CopyButton
          text={code}
          label="Copy"
          is_named
          {...(!has_events && { look: 'main' as const })}
        />
      </div>
      <dl class={style.facts}>
        <div>
          <dt>Project token</dt>
          <dd>
            <code>{api_token}</code>
            <CopyButton text={api_token} label="Copy token" />
          </dd>
        </div>
        <div>
          <dt>Address</dt>
          <dd>
            <code>{SERVER_URL}</code>
            <CopyButton text={SERVER_URL} label="Copy address" />
          </dd>
        </div>
      </dl>
      <p class={style.hint}>
        The token is public: it can send events and read nothing. PostHog's SDKs work as they are,
        with this address as their host.
      </p>
    </section>
  )
}
